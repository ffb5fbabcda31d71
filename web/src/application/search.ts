import { words } from '../app/search-params';

/**
 * `object` is group/kind/namespace/name; `view` the tab of its drawer; `mode` how differences are
 * laid out; `commit` the version that is looked at in the history.
 */
export const applicationSearch = words(
  'tab',
  'cluster',
  'object',
  'view',
  'pod',
  'container',
  'mode',
  'commit',
);
