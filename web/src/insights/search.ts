import { words } from '../app/search-params';

export const insightsSearch = words('project', 'application', 'days');
