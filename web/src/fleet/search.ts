import { words } from '../app/search-params';

export const fleetSearch = words('search', 'region', 'state', 'cluster', 'wave');
