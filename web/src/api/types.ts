// Written by tools/write_web_types.py from the API's description: change it there.

/** End a run as it is, wherever it is. */
export interface Abandon {
  reason: string;
}

/** A wish that was taken. */
export interface Accepted {
  run: string;
  reason: string;
}

/** Something that may be asked for as things are, for whoever looks. */
export interface Action {
  verb: string;
  noun: string;
  stage: string;
  clusters: string[];
  enabled: boolean;
  disabledReason: string;
  consequence: string;
  needsReason: boolean;
  reasonField: string;
  isDestructive: boolean;
  command: string;
  path: string;
  body: Record<string, unknown>;
  title: string;
}

/** What may be done next, the most likely first. */
export interface Actions {
  version: number;
  items: Action[];
}

/** Go on with an application in another repository. */
export interface Adopt {
  /** As the settings name it. */
  repository: string;
  reason: string;
}

/** An agent beside a cluster. */
export interface Agent {
  name: string;
  clusters: string[];
  status: string;
  reason: string;
  version: string;
  protocol: number;
  seen: string | null;
  created: string;
  rotated: string;
  rotating: boolean;
  policy: string[];
}

/** The key of an agent, made where it will run. */
export interface AgentKey {
  /** Public key of X25519, in base64. */
  sealingKey: string;
}

/** What an agent needs to connect; the token is shown this once. */
export interface AgentRegistration {
  agent: string;
  cluster: string;
  token: string;
  signingKey: string;
  addresses: string[];
}

/** What is known of an API token. */
export interface ApiToken {
  id: string;
  name: string;
  role: string;
  matchLabels: Record<string, string>;
  project: string;
  status: string;
  created: string;
  expires: string | null;
  revoked: string | null;
  lastUsed: string | null;
}

/** An application as it stands. */
export interface Application {
  name: string;
  repository: string;
  path: string;
  branch: string;
  project: string;
  labels: Record<string, string>;
  status: string;
  reason: string;
  runningCommit: string;
  head: string;
  decided: string;
  run: string;
  waiting: PendingRun | null;
  paused: string;
  unowned: string;
  missing: Record<string, string>;
  warnings: string[];
  updated: string | null;
  removed: string | null;
  version: number;
  cause: string;
  runStatus: string;
}

/** An application as a line of the overview. */
export interface ApplicationRow {
  name: string;
  project: string;
  labels: Record<string, string>;
  status: string;
  reason: string;
  runningCommit: string;
  head: string;
  run: string;
  runStatus: string;
  released: string | null;
  places: PlaceCommit[];
}

/** An application over all its clusters, as it was seen just now. */
export interface ApplicationStatus {
  name: string;
  at: string;
  health: Health;
  status: string;
  reason: string;
  runningCommit: string;
  run: string;
  waitingReason: string;
  releases: Release[];
  variants: VariantState[];
  ready: number;
  total: number;
  objects: ObjectSummary[];
  clusters: ClusterState[];
  problem: string;
  warnings: string[];
  drift: Record<string, string>;
}

/** What one person decided. */
export interface Approval {
  stage: string;
  group: string;
  by: string;
  at: string;
  approved: boolean;
  comment: string;
}

/** Something that needs a person. */
export interface Attention {
  kind: string;
  rank: number;
  application: string;
  run: string;
  stage: string;
  wave: string;
  clusters: string[];
  sentence: string;
  since: string | null;
  command: string;
  applications: number;
}

/**
 * Who did what, from where, and what that changed.
 *
 * `hash` is the SHA-256, in hexadecimal, of ``previous``, ``position``, ``at``, ``by``,
 * ``action``, ``result``, ``source``, ``application``, ``project``, ``run``, ``document``,
 * ``before`` and ``after`` as a JSON array in this order: without white space, the keys of
 * objects sorted, in UTF-8.
 */
export interface AuditEntry {
  position: number;
  at: string;
  by: string;
  action: string;
  result: string;
  source: string;
  application: string;
  project: string;
  run: string;
  document: Record<string, unknown>;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  previous: string;
  hash: string;
}

/** Where the audit's chain ends: worth being written down elsewhere. */
export interface AuditHead {
  position: number;
  hash: string;
}

/** What is allowed, where that is a number; none: no bound on that side. */
export interface Bounds {
  least: number | null;
  most: number | null;
  marginal: number | null;
}

/** The closed windows of the next days. */
export interface Calendar {
  since: string;
  until: string;
  items: ClosedWindow[];
  omitted: number;
  unread: UnreadFile[];
  pending: number;
}

/** End a run, wherever it is; only a rollback is not broken off unless it was seen. */
export interface Cancel {
  /** Needed to break a rollback off. */
  seen?: Seen | null;
  /** false: leave everything as it is. */
  rollback?: boolean;
  /** Also break off writes under way. */
  now?: boolean;
  reason?: string;
}

/** A time in which nothing begins somewhere. */
export interface ClosedWindow {
  application: string;
  wave: string;
  clusters: string[];
  starts: string;
  ends: string | null;
  reason: string;
}

/** A registered cluster. */
export interface Cluster {
  name: string;
  labels: Record<string, string>;
  provider: string;
  region: string;
  zones: string[];
  suspended: boolean;
  agent: boolean;
  namespaces: string[];
  status: string;
  reason: string;
  since: string | null;
  changing: string;
  schedulable: boolean;
  taints: ClusterTaint[];
  facts: ClusterFacts | null;
  factsMissing: string;
  applications: number | null;
}

/** An application on a cluster. */
export interface ClusterApplication {
  name: string;
  project: string;
  status: string;
  reason: string;
  commit: string;
  completed: string;
  missing: string;
  leaving: string;
  run: string;
}

/** One cluster compared with Git. */
export interface ClusterDrift {
  name: string;
  status: string;
  reason: string;
  compared: string | null;
  objects: ObjectDrift[];
}

/** What a cluster is made of, as it was read last. */
export interface ClusterFacts {
  readAt: string;
  version: string;
  nodes: number | null;
  readyNodes: number | null;
  capacity: Resources | null;
  free: Resources | null;
  problem: string;
}

/** An application on a cluster that somebody thinks of draining. */
export interface ClusterMove {
  application: string;
  moves: boolean;
  replacements: string[];
  reason: string;
}

/** What cordoning or draining a cluster would do to what runs there. */
export interface ClusterPreview {
  cluster: string;
  action: string;
  sentence: string;
  applications: ClusterMove[];
  omitted: number;
}

/** Why. */
export interface ClusterReason {
  reason?: string;
}

/** What one cluster gets of a workload. */
export interface ClusterReplicas {
  name: string;
  replicas: number;
  completions: number | null;
  leastReplicas: number | null;
  free: number | null;
  readAt: string | null;
}

/** What there is in one cluster. */
export interface ClusterState {
  name: string;
  current: boolean;
  seen: string | null;
  unreachableReason: string;
  unknownSince: string | null;
  wanted: boolean;
  health: Health;
  commits: string[];
  variants: VariantState[];
  ready: number;
  total: number;
  objects: ObjectState[];
  warnings: string[];
  state: string;
  cordoned: boolean;
}

/** A taint: it keeps applications away from a cluster. */
export interface ClusterTaint {
  key: string;
  value: string;
  effect: string;
  since: string | null;
  by: string;
  reason: string;
}

/** A commit of an application and what became of it. */
export interface Commit {
  commit: string;
  seen: string;
  subject: string;
  author: string;
  status: string;
  reason: string;
  run: string;
}

/** A commit, and the clusters that run it. */
export interface CommitOnClusters {
  commit: string;
  clusters: string[];
}

/** A stage in both runs. */
export interface ComparedStage {
  name: string;
  beforeStatus: string;
  afterStatus: string;
  beforeSeconds: number | null;
  afterSeconds: number | null;
}

/** Make an API token. */
export interface CreateToken {
  /** As audit and approvals have it, after `token:`; there it begins with the project, as in `token:shop/ci`. */
  name: string;
  role?: "viewer" | "deployer" | "approver" | "responder" | "admin";
  /** Labels of the applications it is for; empty: all. */
  matchLabels?: Record<string, string>;
  /** Project whose applications it is for; empty: every one, which takes somebody who administers everything. */
  project?: string;
  /** Until it expires; left out: never. */
  days?: number | null;
}

/** A new API token. */
export interface CreatedToken {
  id: string;
  name: string;
  role: string;
  project: string;
  expires: string | null;
  token: string;
}

/** Approve or reject. */
export interface Decision {
  seen: Seen;
  comment?: string;
}

/** What may go. */
export interface DeleteWorkspace {
  /** The name of the workspace once more */
  confirm: string;
  /** Also namespaces that hold what is not the workspace's. */
  withContents?: boolean;
}

/** What became of a workspace on a cluster. */
export interface DeletedOnCluster {
  cluster: string;
  deleted: string[];
  left: RemovedNamespace[];
}

/** What was deleted of a workspace, and what is left where. */
export interface DeletedWorkspace {
  name: string;
  isGone: boolean;
  clusters: DeletedOnCluster[];
}

/** One figure over a time, with the runs behind it. */
export interface Distribution {
  name: string;
  definition: string;
  unit: string;
  value: number | null;
  median: number | null;
  high: number | null;
  points: RunPoint[];
  omitted: number;
}

/** An application's clusters compared with what Git says at the commit that counts. */
export interface Drift {
  application: string;
  commit: string;
  mode: string;
  status: string;
  reason: string;
  since: string | null;
  repairAfter: string | null;
  clusters: ClusterDrift[];
}

/** What is known of an application's drift, and which run it has now. */
export interface DriftChange {
  application: string;
  at: string | null;
  clusters: DriftedCluster[];
  unrepaired: string;
  repair: string;
  run: string;
  underWay: boolean;
}

/** A cluster that is not as Git says. */
export interface DriftedCluster {
  name: string;
  since: string;
  reason: string;
}

/** One event of a run's feed. */
export interface Event {
  position: number;
  run: string;
  application: string;
  number: number;
  at: string;
  event: string;
  document: Record<string, unknown>;
}

/** An application on its way off a cluster. */
export interface Eviction {
  cluster: string;
  cause: string;
  reason: string;
  since: string;
  purge: string;
  replacements: string[];
  replaced: boolean;
}

/** A value that applications can be narrowed to, and how many have it. */
export interface Facet {
  value: string;
  count: number;
}

/** Where the branch of an application is. */
export interface Fetched {
  head: string;
}

/** One field that is not as Git says. */
export interface FieldDifference {
  path: string;
  wanted: unknown;
  live: unknown;
  sides: string;
  owners: FieldOwner[];
}

/** Who owns a field, as the object's managedFields say. */
export interface FieldOwner {
  manager: string;
  operation: string;
  since: string | null;
}

/** Something that an analysis measured or concluded. */
export interface Finding {
  position: number;
  number: number;
  at: string;
  stage: string;
  target: string;
  attempt: number;
  kind: string;
  metric: string;
  document: Record<string, unknown>;
}

/** Drop what is kept of an application. */
export interface Forget {
  reason: string;
}

/** How something is, and why. */
export interface Health {
  status: string;
  reason: string;
}

/** A run of an application, or a commit that never became one. */
export interface HistoryEntry {
  kind: string;
  at: string;
  run: string;
  commit: string;
  subject: string;
  status: string;
  reason: string;
  trigger: string;
  by: string;
  strategy: string;
  clusters: string[];
  started: string | null;
  finished: string | null;
  commitsAfter: CommitOnClusters[];
  rollback: Action | null;
}

/** Who a request comes from. */
export interface Identity {
  name: string;
  source: string;
  roles: RoleGrant[];
  expires: string | null;
}

/** How delivery went, from `since` until `until`. */
export interface Insights {
  since: string;
  until: string;
  project: string;
  application: string;
  runs: number;
  days: number[];
  figures: Distribution[];
  omitted: number;
}

/** What changed in one cluster since the version before: only the differences. */
export interface LiveChange {
  application: string;
  version: number;
  cluster: LiveCluster;
  removed: string[];
}

/** An application's objects in one cluster. */
export interface LiveCluster {
  name: string;
  observed: string | null;
  staleReason: string;
  health: Health;
  ready: number;
  total: number;
  nodes: LiveNode[];
  omitted: number;
  warnings: string[];
}

/** One object of the tree, after the one that it belongs to. */
export interface LiveNode {
  uid: string;
  parent: string;
  group: string;
  version: string;
  kind: string;
  namespace: string;
  name: string;
  health: Health;
  created: string | null;
  deleted: string | null;
  ready: number;
  total: number;
  restarts: number;
  images: string[];
  variant: string;
  commit: string;
  drift: string;
  node: string;
  events: ObjectEvent[];
}

/** One object whole: as it is, and as Git says. */
export interface LiveObject {
  cluster: string;
  node: LiveNode;
  live: Record<string, unknown>;
  wanted: Record<string, unknown>;
  differences: FieldDifference[];
  events: ObjectEvent[];
  containers: string[];
}

/** An application's objects in its clusters. */
export interface LiveTree {
  application: string;
  version: number;
  clusters: LiveCluster[];
}

/** One line of a task's log. */
export interface LogLine {
  position: number;
  number: number;
  at: string;
  stage: string;
  target: string;
  attempt: number;
  level: string;
  text: string;
}

/** One metric of one stage over its clusters. */
export interface MetricAnalysis {
  stage: string;
  metric: string;
  query: string;
  unit: string;
  bounds: Bounds;
  series: Series[];
  verdicts: MetricVerdict[];
  outlier: string;
  strategy: string;
}

/** What was concluded at a moment: on one cluster, or pooled. */
export interface MetricVerdict {
  at: string;
  cluster: string;
  result: string;
  sentence: string;
  numbers: Record<string, unknown>;
}

/** What would change of one object, as a unified diff of its YAML. */
export interface ObjectDiff {
  object: string;
  action: string;
  diff: string;
  omitted: number;
}

/** One object that is not as Git says. */
export interface ObjectDrift {
  group: string;
  kind: string;
  namespace: string;
  name: string;
  drift: string;
  since: string | null;
  reason: string;
  differences: FieldDifference[];
  omitted: number;
}

/** What a cluster's controllers said of an object: the newest of its kind. */
export interface ObjectEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  lastSeen: string | null;
}

/** One object in one cluster. */
export interface ObjectState {
  group: string;
  kind: string;
  namespace: string;
  name: string;
  health: Health;
  commit: string;
  variant: string;
  ready: number;
  total: number;
  images: string[];
  numbers: Record<string, unknown>;
}

/** One object over the clusters that have it. */
export interface ObjectSummary {
  group: string;
  kind: string;
  namespace: string;
  name: string;
  clusters: string[];
  observed: number;
  ready: number;
  total: number;
  numbers: Record<string, unknown>;
  health: Record<string, number>;
}

/** The head of the first screen; its lines are paged apart. */
export interface Overview {
  at: string;
  sentence: string;
  attention: Attention[];
  attentionOmitted: number;
  running: RunningRun[];
  runningOmitted: number;
  places: string[];
  placesBy: string;
  applications: number;
  facets: Record<string, Facet[]>;
}

/** Start nothing new. */
export interface Pause {
  reason?: string;
}

/** An approval that is waited for. */
export interface PendingApproval {
  stage: string;
  group: string;
  needed: number;
  given: number;
  approvers: string[];
  expires: string | null;
}

/** What an application will do next, and why not yet. */
export interface PendingRun {
  run: string;
  commit: string;
  reason: string;
  kind: string;
  by: string;
  waitingReason: string;
}

/** What of an application runs in one place. */
export interface PlaceCommit {
  place: string;
  commits: string[];
  clusters: number;
  current: number;
  health: string;
  drift: string;
}

/** A task and where it belongs. */
export interface PlacedTask {
  stage: string;
  task: Task;
}

/** Where an application is, and what is moving. */
export interface Placement {
  application: string;
  clusters: string[];
  away: PlacementReason[];
  leaving: Eviction[];
  waiting: PlacementReason[];
  move: string;
}

/** Why something is so on a cluster. */
export interface PlacementReason {
  cluster: string;
  reason: string;
}

/** What a sync would do now: the same as ``volary plan --output json`` says. */
export interface Plan {
  application: string;
  commit: string;
  subject: string;
  runningCommit: string;
  runningReason: string;
  strategy: string;
  reason: string;
  images: string[];
  hasChanges: boolean;
  failed: boolean;
  stages: PlannedStage[];
  clusters: PlannedCluster[];
  warnings: string[];
  replicas: WorkloadReplicas[];
  groups: PlannedGroup[];
  variations: PlannedVariation[];
}

/** Say what a sync would do. */
export interface PlanRequest {
  /** Empty: the head of the branch. Where there are projects, a sync takes commits of that branch only. */
  commit?: string;
  /** quick or pipeline; empty: as planned. */
  strategy?: string;
  /** Leave the objects out of each cluster: `groups` has them once for all clusters that would change alike. */
  grouped?: boolean;
}

/** What one cluster would do. */
export interface PlannedCluster {
  name: string;
  status: string;
  created: number;
  changed: number;
  pruned: number;
  kept: number;
  unchanged: number;
  objects: PlannedObject[];
  problems: string[];
  unreachableReason: string;
  warnings: string[];
  pruneRefusal: string;
}

/** Clusters that would change alike. */
export interface PlannedGroup {
  clusters: string[];
  status: string;
  created: number;
  changed: number;
  pruned: number;
  kept: number;
  diffs: ObjectDiff[];
  omitted: number;
  problems: string[];
}

/** What would happen to one object. */
export interface PlannedObject {
  object: string;
  action: string;
  reason: string;
  differences: Record<string, unknown>[];
  omitted: number;
}

/** A stage of the run to be. */
export interface PlannedStage {
  name: string;
  description: string;
  clusters: string[];
  skipped: string;
}

/** An object that would not become the same on all clusters. */
export interface PlannedVariation {
  object: string;
  sentence: string;
  places: string[];
  sides: VariationSide[];
  omittedPlaces: number;
  omittedSides: number;
}

/** Why a log has ended. */
export interface PodLogEnd {
  reason: string;
}

/** One line that a container wrote. */
export interface PodLogLine {
  position: number;
  at: string | null;
  text: string;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  /** Why, one sentence. */
  detail: string;
  /** What to do. */
  hint: string;
  problems: Record<string, unknown>[];
}

/** What the applications of one team may do. */
export interface Project {
  name: string;
  description: string;
  sources: ProjectSource[];
  destinations: ProjectDestination[];
  clusters: string[];
  namespacedKinds: string[];
  clusterScopedKinds: string[];
  deniedKinds: string[];
  stages: string[] | null;
  scripts: string;
  limits: Record<string, number>;
  roles: ProjectRole[];
  identity: string;
  applications: number;
}

/** Where a project's applications may have objects. */
export interface ProjectDestination {
  clusters: string[];
  namespaces: string[];
}

/** Where the projects that count come from. */
export interface ProjectFiles {
  inUse: boolean;
  repository: string;
  commit: string;
  problem: string;
  unknown: string;
}

/** Whether a project permits something. */
export interface ProjectPermission {
  project: string;
  permitted: boolean;
  reason: string;
  clusters: string[];
}

/** Who has a role for a project's applications. */
export interface ProjectRole {
  role: string;
  groups: string[];
  subjects: string[];
}

/** Application files that belong to a project. */
export interface ProjectSource {
  repository: string;
  paths: string[];
  branches: string[];
}

/** End what the current wave waits for at its end. */
export interface Promote {
  seen: Seen;
  reason: string;
  /** Refused at any other */
  wave: string;
}

/** What a rebalance would do. */
export interface Rebalance {
  application: string;
  reason: string;
  clusters: string[];
  more: string[];
  less: string[];
  off: string[];
  leftOut: PlacementReason[];
}

/** A commit and the clusters whose primary workloads run it. */
export interface Release {
  commit: string;
  clusters: string[];
}

/** A namespace of a workspace that is not written any more, and is still there. */
export interface RemovedNamespace {
  name: string;
  reason: string;
}

/** An amount of what pods take. */
export interface Resources {
  pods: number;
  cpu: number;
  memory: number;
}

/** Go on after a pause. */
export interface Resume {
  seen: Seen;
}

/** Try again. */
export interface Retry {
  seen: Seen;
  /** Clusters; empty: wherever it failed. */
  targets?: string[];
}

/** A role that somebody has. */
export interface RoleGrant {
  role: string;
  matchLabels: Record<string, string>;
  projects: string[];
  permissions: string[];
}

/** What going back would change on one cluster. */
export interface RollbackCluster {
  name: string;
  status: string;
  sentence: string;
}

/** What going back to a version would change: ``volary rollback --to … --dry-run`` says it. */
export interface RollbackPreview {
  application: string;
  commit: string;
  subject: string;
  sentence: string;
  isKnown: boolean;
  clusters: RollbackCluster[];
}

/** Go back. */
export interface RollbackRequest {
  /** A commit, or the id of a run; empty: the run under way or the last change is rolled back, on each cluster to what that one ran before. */
  to?: string;
}

/** A whole run. */
export interface Run {
  summary: RunSummary;
  plan: string;
  stages: Stage[];
  rollback: Stage | null;
  targets: Target[];
  approvals: Approval[];
  pendingApproval: PendingApproval | null;
  pausedBy: string;
  unfrozen: string;
  held: boolean;
  deadline: string | null;
  waitingReason: string;
  whatNext: string;
  nextCommands: string[];
  ifFailed: string;
  move: string;
  lastEvent: number;
  seen: Sighting;
  replicas: WorkloadReplicas[];
  warnings: string[];
  waves: RunWave[];
}

/** Everything that a run measured. */
export interface RunAnalysis {
  run: string;
  sentence: string;
  metrics: MetricAnalysis[];
  omitted: number;
  metricsOmitted: number;
}

/** Two runs of an application beside each other. */
export interface RunComparison {
  before: RunSummary;
  after: RunSummary;
  differences: string[];
  stages: ComparedStage[];
  clustersAdded: string[];
  clustersRemoved: string[];
}

/** Something at a moment of a run that is worth a look back. */
export interface RunMark {
  at: string;
  kind: string;
  sentence: string;
  stage: string;
  clusters: string[];
  result: string;
}

/** The marks of a run's time line, in the order they happened. */
export interface RunMarks {
  run: string;
  items: RunMark[];
  omitted: number;
}

/** One run of a distribution. */
export interface RunPoint {
  run: string;
  application: string;
  at: string;
  value: number;
}

/** State of a run. */
export type RunStatus = "pending" | "planned" | "running" | "waiting" | "rolling_back" | "succeeded" | "succeeded_with_exceptions" | "failed" | "cancelled" | "rolled_back";

/** A run as lists show it. */
export interface RunSummary {
  id: string;
  application: string;
  status: string;
  reason: string;
  commit: string;
  runningCommit: string;
  subject: string;
  trigger: string;
  by: string;
  strategy: string;
  targets: string[];
  created: string;
  started: string | null;
  finished: string | null;
  version: number;
}

/** How a run moved traffic, in the order it happened. */
export interface RunTraffic {
  run: string;
  samples: WeightSample[];
  now: WeightSample[];
  omitted: number;
}

/** Clusters that a run changes together, and what it puts up with among them. */
export interface RunWave {
  name: string;
  clusters: string[];
  failures: number;
  unreachable: number;
  failed: number;
  lost: number;
  onFailure: string;
}

/** A run under way, as a line. */
export interface RunningRun {
  run: string;
  application: string;
  commit: string;
  subject: string;
  status: string;
  sentence: string;
  stagesDone: number;
  stagesTotal: number;
  clustersDone: number;
  clustersTotal: number;
  clustersFailed: number;
  canaryWeight: number | null;
  started: string | null;
}

/** One measurement. */
export interface Sample {
  at: string;
  value: number | null;
  count: number | null;
}

/** Where the run was when you looked: `seen` of the run; refused when it has moved since. */
export interface Seen {
  /** Id of the stage. */
  stage: string;
  /** The group that waits for approval; may be empty. */
  group: string;
  /** Grows with what people decide about. */
  version: number;
}

/** What one side measured on one cluster. */
export interface Series {
  cluster: string;
  variant: string;
  samples: Sample[];
  thinned: number;
  worth: number | null;
}

/** A server that is there. */
export interface Server {
  name: string;
  address: string;
  version: string;
  revision: string;
  started: string;
  lastSeen: string;
  isLeader: boolean;
}

/** Who is logged in, and how one can log in. */
export interface SessionState {
  authenticated: boolean;
  name: string;
  source: string;
  csrfToken: string;
  methods: string[];
  expires: string | null;
  version: string;
}

/** Where a run is: what a request about it names, so that it acts on that and nothing else. */
export interface Sighting {
  stage: string;
  group: string;
  version: number;
}

/** Go on without a cluster, or without the rest of a stage: one of them. */
export interface Skip {
  seen: Seen;
  target?: string;
  stage?: string;
  reason: string;
}

/** One step of a run on all its clusters. */
export interface Stage {
  id: string;
  name: string;
  status: string;
  reason: string;
  started: string | null;
  finished: string | null;
  deadline: string | null;
  wave: string;
  promoted: string;
  tasks: Task[];
}

/** Roll a commit out. */
export interface Sync {
  /** Empty: the head of the branch. Where there are projects, a sync takes commits of that branch only. */
  commit?: string;
  /** quick or pipeline; empty: as planned. */
  strategy?: string;
}

/** A mark. */
export interface Taint {
  reason?: string;
  key: string;
  value?: string;
  effect: "NoSchedule" | "NoExecute";
}

/** A process that takes tasks. */
export interface Taker {
  name: string;
  seen: string;
}

/** A cluster of a run. */
export interface Target {
  name: string;
  touched: boolean;
  leftOut: string;
  exception: string;
}

/** One stage on one cluster. */
export interface Task {
  target: string;
  group: string;
  status: string;
  reason: string;
  attempt: number;
  started: string | null;
  finished: string | null;
  deadline: string | null;
  progress: string;
  ready: number;
  total: number;
  wantedWeights: Record<string, number>;
  observedWeights: Record<string, number>;
  details: string[];
}

/** Who takes the tasks of a cluster. */
export interface TaskQueue {
  cluster: string;
  queue: string;
  apart: boolean;
  takers: Taker[];
  reason: string;
}

/** Where tasks come from. */
export interface Temporal {
  address: string;
  namespace: string;
  queuePrefix: string;
  heartbeat: number;
}

/** Log in with an API token. */
export interface TokenLogin {
  token: string;
}

/** Go through closed windows. */
export interface Unfreeze {
  seen: Seen;
  reason: string;
}

/** An application of whose windows nobody knows. */
export interface UnreadFile {
  application: string;
  reason: string;
}

/** A mark that is taken away. */
export interface Untaint {
  reason?: string;
  key: string;
  /** Empty: every taint of the key. */
  effect?: "" | "NoSchedule" | "NoExecute";
}

/** What a variant runs. */
export interface VariantState {
  name: string;
  commits: string[];
  images: string[];
  ready: number;
  total: number;
}

/** What a group of clusters would do with an object that others treat differently. */
export interface VariationSide {
  cluster: string;
  action: string;
  values: string[];
}

/** Traffic of one cluster from a moment on, in percent per variant. */
export interface WeightSample {
  at: string;
  cluster: string;
  stage: string;
  wanted: Record<string, number>;
  observed: Record<string, number>;
}

/** A worker that has joined, whose processes take the tasks of its clusters. */
export interface Worker {
  name: string;
  clusters: string[];
  status: string;
  reason: string;
  processes: Taker[];
  created: string;
  rotated: string;
  rotating: boolean;
}

/** The key of a worker, made where it will run, and its clusters. */
export interface WorkerKey {
  /** Public key of X25519, in base64. */
  sealingKey: string;
  clusters: string[];
}

/** What a worker needs; the token is shown this once. */
export interface WorkerRegistration {
  worker: string;
  clusters: string[];
  token: string;
  signingKey: string;
  addresses: string[];
  temporal: Temporal;
}

/** One workload and who gets how many of its replicas. */
export interface WorkloadReplicas {
  workload: string;
  reason: string;
  clusters: ClusterReplicas[];
}

/** A workspace: what a team has on its clusters. */
export interface Workspace {
  name: string;
  project: string;
  status: string;
  reason: string;
  namespaces: string[];
  removed: string | null;
  clusters: WorkspaceCluster[];
}

/** How a workspace is on a cluster. */
export interface WorkspaceCluster {
  cluster: string;
  status: string;
  reason: string;
  since: string | null;
  namespaces: string[];
  removed: RemovedNamespace[];
  repair: string;
  repaired: string | null;
}
