import { words } from '../app/search-params';

export const fleetSearch = words('tab', 'search', 'region', 'state', 'cluster', 'wave');
