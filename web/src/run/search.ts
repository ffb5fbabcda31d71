import { words } from '../app/search-params';

/** `stage` and `cluster`: the open cell; `tab`: of its drawer; `density`: of the cells. */
export const runSearch = words('stage', 'cluster', 'tab', 'density', 'group', 'find', 'at');
