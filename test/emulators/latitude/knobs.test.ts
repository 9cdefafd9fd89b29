import { expect, test } from 'vitest';
import type { GivenKnobs } from '../../../emulators/latitude/state/knobs.ts';
import { knobsSchema } from '../../../emulators/latitude/state/knobs.ts';
import { generateHostKey, publicBlobOf } from '../../../emulators/hosts/keys.ts';
import { type Latitude, MINUTE, SECOND, startLatitude } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const LINE = `ssh-ed25519 ${publicBlobOf(generateHostKey()).toString('base64')}`;
const TEXT = { status: 403, code: 'no', title: 'No', detail: 'no' };
const codeOf = async (reply: Promise<{ errors: readonly { code: string }[] }>) =>
  (await reply).errors[0]?.code ?? 'none';

/** A value of the knob, and what is seen then. */
type Case = readonly [value: unknown, seen: unknown];
type Look = (latitude: Latitude) => Promise<unknown>;
const shows = (...given: readonly [...Case[], Look]) => ({
  cases: given.slice(0, -1) as Case[],
  look: given.at(-1) as Look,
});

const KNOBS: Readonly<Partial<Record<keyof GivenKnobs, ReturnType<typeof shows>>>> = {
  onFlash: shows([true, 'on'], [false, 'deploying'], async ({ fake, create, statusOf }) => {
    const { id } = (await create('a')).data;
    await fake.advance(18 * SECOND);
    return statusOf(id);
  }),
  firstAddress: shows(
    ['atOnce', 'string string string'],
    ['deploying', 'object object string'],
    async ({ fake, create, server }) => {
      const made = (await create('a')).data;
      const before = (await server(made.id))['primary_ipv4'];
      await fake.advance(25 * SECOND);
      const after = (await server(made.id))['primary_ipv4'];
      return [made.attributes['primary_ipv4'], before, after].map((one) => typeof one).join(' ');
    },
  ),
  hostnameFilter: shows(['exact', 1], ['prefix', 2], async ({ create, listed }) => {
    for (const hostname of ['a', 'ab']) await create(hostname);
    return (await listed('&filter[hostname]=a')).list.length;
  }),
  hostnameCase: shows(['kept', 'Ab'], ['upper', 'AB'], ['lower', 'ab'], async ({ create }) => {
    return (await create('Ab')).data.attributes['hostname'];
  }),
  duplicateNames: shows(['allowed', 201], ['refused', 422], async ({ create }) => {
    await create('a');
    return (await create('a')).status;
  }),
  duplicateKeys: shows(['allowed', 201], ['refused', 422], async ({ fake, post }) => {
    const key = { project: fake.project, name: 'a', public_key: LINE };
    await post('/ssh_keys', 'ssh_keys', key);
    return (await post('/ssh_keys', 'ssh_keys', key)).status;
  }),
  unknownReference: shows([404, 404], [422, 422], async ({ create }) => {
    return (await create('a', { plan: 'none' })).status;
  }),
  deleteWhileDeploying: shows(['allowed', 204], ['refused', 422], async ({ create, ask }) => {
    return (await ask('DELETE', `/servers/${(await create('a')).data.id}`)).status;
  }),
  patchInUse: shows(['allowed', [200, 200]], ['refused', [200, 422]], async (latitude) => {
    const change = (id: string) => ({ body: latitude.write('user_data', {}, id) });
    return usedRecords(latitude, (id) => latitude.ask('PATCH', `/user_data/${id}`, change(id)));
  }),
  deleteInUse: shows(['allowed', [204, 204]], ['refused', [204, 422]], async (latitude) => {
    return usedRecords(latitude, (id) => latitude.ask('DELETE', `/user_data/${id}`));
  }),
  descriptionMax: shows([5, 422], [6, 201], [0, 201], async ({ record }) => {
    return (await record('abcdef')).status;
  }),
  contentMax: shows([19, 422], [20, 201], [0, 201], async ({ record }) => {
    return (await record('a', '#cloud-config\n')).status;
  }),
  tooLong: shows(['refused', undefined], ['cut', 'abcd'], async ({ fake, record }) => {
    fake.setKnobs({ descriptionMax: 4 });
    return (await record('abcdef')).data.attributes['description'];
  }),
  pageSizeMax: shows([2, 400], [3, 200], async ({ listed }) => {
    return (await listed('&page[size]=3')).status;
  }),
  pageSizeOver: shows(['refused', 400], ['clamped', 200], async ({ fake, create, listed }) => {
    fake.setKnobs({ pageSizeMax: 1 });
    for (const hostname of ['a', 'b']) await create(hostname);
    const { status, list } = await listed('&page[size]=3');
    expect(list).toHaveLength(status === 200 ? 1 : 0);
    return status;
  }),
  listLagMs: shows([0, 1], [1, 0], async ({ create, listed }) => {
    await create('a');
    return (await listed()).list.length;
  }),
  tombstoneMs: shows([0, [404, 404]], [MINUTE, [200, 404]], async ({ fake, ask, create }) => {
    const path = `/servers/${(await create('a')).data.id}`;
    await ask('DELETE', path);
    const statuses = [(await ask('GET', path)).status, (await ask('DELETE', path)).status];
    await fake.advance(MINUTE);
    expect((await ask('GET', path)).status).toBe(404);
    return statuses;
  }),
  reinstallReply: shows(['document', 'reinstalls'], ['empty', ''], async (latitude) => {
    return (await latitude.reinstall(await latitude.running())).data.type;
  }),
  eventNames: shows(
    ['dotted', ['servers.power_off', 'servers.create']],
    ['words', ['power off server', 'create server']],
    async ({ ask, running, act }) => {
      await act(await running(), 'power_off');
      const { list } = await ask('GET', '/events?sort=-created_at');
      return list.map(({ attributes }) => attributes['action']);
    },
  ),
  siteShown: shows(['region', undefined], ['site', 'ASH'], async ({ running, server }) => {
    const { site, region } = await server(await running());
    expect(region === undefined).toBe(site !== undefined);
    return site;
  }),
  stockText: shows([TEXT, 'no'], async ({ fake, create }) => {
    fake.setStock('c3-small-x86', 'ASH', 0);
    return codeOf(create('a'));
  }),
  quotaText: shows([TEXT, 'no'], async ({ fault, create }) => {
    fault({ type: 'quota' });
    return codeOf(create('a'));
  }),
  lockText: shows([TEXT, 'no'], async ({ running, ask, act }) => {
    const id = await running();
    await ask('POST', `/servers/${id}/lock`);
    return codeOf(act(id, 'reboot'));
  }),
  stateText: shows([TEXT, 'no'], async ({ create, act }) => {
    return codeOf(act((await create('a')).data.id, 'reboot'));
  }),
};

/** The answers to a change of user data that no server has, and of others. */
async function usedRecords(
  { create, record }: Latitude,
  change: (id: string) => Promise<{ status: number }>,
) {
  const [free, used] = [(await record('mark')).data.id, (await record('other')).data.id];
  await create('a', { user_data: used });
  return [(await change(free)).status, (await change(used)).status];
}

testRows(Object.entries(KNOBS))('obeys the knob %s', async (knob, { cases, look }) => {
  for (const [value, seen] of cases) {
    const latitude = await startLatitude({ knobs: { [knob]: value } });
    expect([value, await look(latitude)]).toEqual([value, seen]);
  }
});

test('every knob has its proof', () => {
  // When user data are read is shown on machines.
  const names = [...Object.keys(KNOBS), 'userDataRead'];
  expect(names.toSorted()).toEqual(Object.keys(knobsSchema.shape).toSorted());
});

test('a knob that there is not is refused, and changes nothing', async () => {
  const { fake } = await startLatitude();
  const before = fake.setKnobs({});
  expect(() => fake.setKnobs({ pageSizeMax: 7, colour: 'red' } as never)).toThrow(/colour/);
  expect(fake.setKnobs({})).toEqual(before);
});
