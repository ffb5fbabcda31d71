import { words } from '../app/search-params';

export const planSearch = words('commit', 'strategy', 'group', 'object', 'mode');
