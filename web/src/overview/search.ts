import { words } from '../app/search-params';

export const overviewSearch = words('search', 'project', 'status', 'cluster', 'region');
