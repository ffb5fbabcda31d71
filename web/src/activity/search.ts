import { words } from '../app/search-params';

export const activitySearch = words('by', 'application', 'cluster', 'action', 'entry', 'tab');
