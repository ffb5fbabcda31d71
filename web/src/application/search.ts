import { words } from '../app/search-params';

/** `object` is group/kind/namespace/name. */
export const applicationSearch = words('tab', 'cluster', 'object', 'view', 'pod', 'container');
