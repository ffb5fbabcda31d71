import { words } from '../app/search-params';

/** `entry` is the position of the entry that is open. */
export const activitySearch = words('tab', 'by', 'application', 'cluster', 'action', 'entry', 'status');
