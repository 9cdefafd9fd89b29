import { expect, test } from 'vitest';
import type { GivenKnobs } from '../../../src/simulator/fakelatitude/state/knobs.ts';
import { knobsSchema } from '../../../src/simulator/fakelatitude/state/knobs.ts';
import { type Latitude, MINUTE, SECOND, startLatitude } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const TEXT = { status: 403, code: 'no', title: 'No', detail: 'no' };
const codeOf = async (reply: Promise<{ errors: readonly { code: string }[] }>) =>
  (await reply).errors[0]?.code ?? 'none';

/** What is seen with each value of a knob. */
const KNOBS: readonly (readonly [
  keyof GivenKnobs,
  readonly (readonly [value: unknown, seen: unknown])[],
  (latitude: Latitude) => Promise<unknown>,
])[] = [
  [
    'onFlash',
    [
      [true, 'on'],
      [false, 'deploying'],
    ],
    async ({ fake, create, statusOf }) => {
      const { id } = (await create('a')).data;
      await fake.advance(18 * SECOND);
      return statusOf(id);
    },
  ],
  [
    'firstAddress',
    [
      ['atOnce', ['string', 'string', 'string']],
      ['deploying', ['object', 'object', 'string']],
    ],
    async ({ fake, create, server }) => {
      const made = (await create('a')).data;
      const before = (await server(made.id))['primary_ipv4'];
      await fake.advance(25 * SECOND);
      const after = (await server(made.id))['primary_ipv4'];
      return [typeof made.attributes['primary_ipv4'], typeof before, typeof after];
    },
  ],
  [
    'hostnameFilter',
    [
      ['exact', 1],
      ['prefix', 2],
    ],
    async ({ create, listed }) => {
      await create('a');
      await create('ab');
      return (await listed('&filter[hostname]=a')).list.length;
    },
  ],
  [
    'hostnameCase',
    [
      ['kept', 'Ab'],
      ['upper', 'AB'],
      ['lower', 'ab'],
    ],
    async ({ create }) => (await create('Ab')).data.attributes['hostname'],
  ],
  [
    'duplicateNames',
    [
      ['allowed', 201],
      ['refused', 422],
    ],
    async ({ create }) => {
      await create('a');
      return (await create('a')).status;
    },
  ],
  [
    'unknownReference',
    [
      [404, 404],
      [422, 422],
    ],
    async ({ create }) => (await create('a', { plan: 'none' })).status,
  ],
  [
    'deleteWhileDeploying',
    [
      ['allowed', 204],
      ['refused', 422],
    ],
    async ({ create, ask }) =>
      (await ask('DELETE', `/servers/${(await create('a')).data.id}`)).status,
  ],
  ...(['patchInUse', 'deleteInUse'] as const).map(
    (knob) =>
      [
        knob,
        [
          ['allowed', 0],
          ['refused', 422],
        ],
        async ({ create, record, ask, write }: Latitude) => {
          const { id } = (await record('mark')).data;
          await create('a', { user_data: id });
          const { id: free } = (await record('other')).data;
          const change = (of: string) =>
            knob === 'deleteInUse'
              ? ask('DELETE', `/user_data/${of}`)
              : ask('PATCH', `/user_data/${of}`, { body: write('user_data', {}, of) });
          expect((await change(free)).status).toBeLessThan(300);
          const { status } = await change(id);
          return status < 300 ? 0 : status;
        },
      ] as const,
  ),
  [
    'descriptionMax',
    [
      [5, 422],
      [6, 201],
      [0, 201],
    ],
    async ({ record }) => (await record('abcdef')).status,
  ],
  [
    'contentMax',
    [
      [19, 422],
      [20, 201],
      [0, 201],
    ],
    async ({ record }) => (await record('a', '#cloud-config\n')).status,
  ],
  [
    'tooLong',
    [
      ['refused', undefined],
      ['cut', 'abcd'],
    ],
    async ({ fake, record }) => {
      fake.setKnobs({ descriptionMax: 4 });
      return (await record('abcdef')).data.attributes['description'];
    },
  ],
  [
    'pageSizeMax',
    [
      [2, 400],
      [3, 200],
    ],
    async ({ listed }) => (await listed('&page[size]=3')).status,
  ],
  [
    'pageSizeOver',
    [
      ['refused', [400, 0]],
      ['clamped', [200, 1]],
    ],
    async ({ fake, create, listed }) => {
      fake.setKnobs({ pageSizeMax: 1 });
      for (const hostname of ['a', 'b']) await create(hostname);
      const { status, list } = await listed('&page[size]=3');
      return [status, list.length];
    },
  ],
  [
    'listLagMs',
    [
      [0, 1],
      [1, 0],
    ],
    async ({ create, listed }) => {
      await create('a');
      return (await listed()).list.length;
    },
  ],
  [
    'tombstoneMs',
    [
      [0, [404, 404]],
      [MINUTE, [200, 404]],
    ],
    async ({ fake, ask, create }) => {
      const { id } = (await create('a')).data;
      await ask('DELETE', `/servers/${id}`);
      const { status } = await ask('GET', `/servers/${id}`);
      const again = await ask('DELETE', `/servers/${id}`);
      await fake.advance(MINUTE);
      expect((await ask('GET', `/servers/${id}`)).status).toBe(404);
      return [status, again.status];
    },
  ],
  [
    'reinstallReply',
    [
      ['document', 'reinstalls'],
      ['empty', ''],
    ],
    async ({ running, reinstall }) => (await reinstall(await running())).data.type,
  ],
  [
    'eventNames',
    [
      ['dotted', ['servers.power_off', 'servers.create']],
      ['words', ['power off server', 'create server']],
    ],
    async ({ ask, running, act }) => {
      await act(await running(), 'power_off');
      const { list } = await ask('GET', '/events?sort=-created_at');
      return list.map(({ attributes }) => attributes['action']);
    },
  ],
  [
    'siteShown',
    [
      ['region', [undefined, 'object']],
      ['site', ['ASH', 'undefined']],
    ],
    async ({ running, server }) => {
      const { site, region } = await server(await running());
      return [site, typeof region];
    },
  ],
  [
    'stockText',
    [[TEXT, 'no']],
    async ({ fake, create }) => {
      fake.setStock('c3-small-x86', 'ASH', 0);
      return codeOf(create('a'));
    },
  ],
  [
    'quotaText',
    [[TEXT, 'no']],
    async ({ fault, create }) => {
      fault({ type: 'quota' });
      return codeOf(create('a'));
    },
  ],
  [
    'lockText',
    [[TEXT, 'no']],
    async ({ running, ask, act }) => {
      const id = await running();
      await ask('POST', `/servers/${id}/lock`);
      return codeOf(act(id, 'reboot'));
    },
  ],
  [
    'stateText',
    [[TEXT, 'no']],
    async ({ create, act }) => codeOf(act((await create('a')).data.id, 'reboot')),
  ],
];

testRows(KNOBS)('obeys the knob %s', async (knob, cases, seen) => {
  for (const [value, expected] of cases) {
    const latitude = await startLatitude({ knobs: { [knob]: value } });
    expect([value, await seen(latitude)]).toEqual([value, expected]);
  }
});

test('every knob has its proof', () => {
  /** Of keys and of machines, shown where those are. */
  const elsewhere = ['duplicateKeys', 'userDataRead'];
  const names = [...KNOBS.map(([name]) => name), ...elsewhere];
  expect(names.toSorted()).toEqual(Object.keys(knobsSchema.shape).toSorted());
});

test('a knob that there is not is refused, and changes nothing', async () => {
  const { fake } = await startLatitude();
  const before = fake.setKnobs({});
  expect(() => fake.setKnobs({ pageSizeMax: 7, colour: 'red' } as never)).toThrow(/colour/);
  expect(fake.setKnobs({})).toEqual(before);
});
