import { stateOf } from '../design/state';
import type { RunEvent } from './events';

interface Said extends RunEvent {
  line?: string;
  kind?: string;
  metric?: string;
  object?: string;
  claimant?: string;
  how?: string;
  document?: { sentence?: string; result?: string };
}

/** An event of a run in a sentence. */
export function eventSentence(event: RunEvent): string {
  const said = event as Said;
  switch (event.event) {
    case 'task-started':
      return event.attempt > 1 ? `started, attempt ${event.attempt}` : 'started';
    case 'task-progressed':
      return event.sentence || `${event.ready} of ${event.total} ready`;
    case 'task-logged':
      return said.line ?? '';
    case 'task-finding':
      return said.document?.sentence || `${said.kind ?? ''} of ${said.metric ?? ''} ${said.document?.result ?? ''}`.trim();
    case 'task-took-over':
      return `took over ${said.object ?? ''} from ${said.claimant ?? ''}`;
    case 'task-stopping':
      return `asked to stop ${said.how ?? ''}: ${event.reason}`;
    case 'task-finished':
    case 'stage-finished':
      return [stateOf(event.status).word, event.reason].filter(Boolean).join(': ');
    case 'stage-started':
      return 'the stage began';
    case 'stage-waiting':
      return event.reason;
    default:
      return [event.event.replaceAll('-', ' '), event.reason].filter(Boolean).join(': ');
  }
}
