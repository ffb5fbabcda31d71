import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';

import { violations } from '../../tests/axe';
import { openScreen, Refusal } from '../../tests/screen';
import { insights } from './insights-fixtures';

const applications = { items: [{ name: 'shop', project: 'web' }], cursor: '' };
const ANSWERS = { 'GET /insights': insights(), 'GET /applications': applications };

describe('insights', () => {
  it('shows four figures with their definitions, each point a link to its run', async () => {
    const { container } = openScreen('/insights', ANSWERS);

    const lead = within(await screen.findByRole('region', { name: 'Lead time for changes' }));
    expect(lead.getByText('1 h 00 m')).toBeTruthy();
    expect(lead.getByText(/From when a commit was seen/)).toBeTruthy();
    expect(lead.getAllByRole('link', { name: /^shop: 2 h 00 m/ })[0]?.getAttribute('href')).toBe('/runs/run-2');
    const restore = within(screen.getByRole('region', { name: 'Time to restore' }));
    expect(restore.getByText('no data')).toBeTruthy();
    expect(within(screen.getByRole('region', { name: 'Change failure rate' })).getByText('1 of 2 changes')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it('asks for what the address says', async () => {
    const user = userEvent.setup();
    const { asked, address } = openScreen('/insights?project=web', ANSWERS);

    await screen.findByRole('region', { name: 'Time to restore' });
    await user.selectOptions(screen.getByLabelText('Time'), 'last 90 days');

    expect(address()).toBe('/insights?project=web&days=90');
    const last = () => asked.filter(({ path }) => path === '/insights').at(-1)?.query.toString();
    await waitFor(() => expect(last()).toBe('project=web&days=90'));
  });

  it('teaches where nothing was counted', async () => {
    openScreen('/insights', { ...ANSWERS, 'GET /insights': insights({ runs: 0 }) });

    expect(await screen.findByText('No run ended in this time')).toBeTruthy();
    expect(screen.getByText('volary sync APPLICATION')).toBeTruthy();
  });

  it('says what cannot be counted', async () => {
    openScreen('/insights', { ...ANSWERS, 'GET /insights': new Refusal(404, 'there is no project none') });

    expect((await screen.findByRole('alert')).textContent).toContain('there is no project none');
  });
});
