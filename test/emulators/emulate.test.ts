import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testRows } from '../support/rows.ts';
import { judgedChild } from '../published/children.ts';
import { adminOf, emulatorCommand } from './emulator-command.ts';

const { file, begin, refuses, run } = emulatorCommand(judgedChild);

/** Options of each emulator alone, and the line that it then prints. */
const OPTIONS: readonly (readonly [name: string, options: readonly string[], line: object])[] = [
  [
    'redfish',
    ['--systems', '3', '--bmcs', '2'],
    {
      bmcs: [{ systems: [expect.anything()] }, { systems: [expect.anything(), expect.anything()] }],
    },
  ],
  [
    'hetzner-robot',
    ['--servers', '3'],
    { servers: [{ number: 321 }, { number: 322 }, { number: 323 }] },
  ],
  ['latitude', [], { project: expect.stringMatching(/^proj_\w+$/) }],
  ['anexia', ['--load-balancers', '1'], { loadBalancers: [expect.any(String)] }],
];

testRows(OPTIONS)(
  '%s prints one line, has the faults of its file, guards its controls, and ends with a signal',
  async (name, options, shown) => {
    const faults = file('faults.yaml', '- effect: { type: status, code: 418 }\n');
    const all = ['--faults', faults, '--clock', 'manual', '--seed', '9', ...options];
    const { line, end } = await begin<{ adminUrl: string; adminToken: string }>(name, ...all);
    expect(line).toMatchObject(shown);
    await adminOf(line).isGuarded();
    await end();
  },
);

test('makes the same world from the same seed, and never the same tokens', async () => {
  interface EmulatorLine {
    readonly projectId: string;
    readonly tokens: Readonly<Record<string, string>>;
  }
  const worldOf = async (seed: string) => {
    const { line, end } = await begin<EmulatorLine>(
      'equinix',
      '--seed',
      seed,
      '--reservations',
      '2',
    );
    await end();
    return line;
  };
  const [one, again, other] = [await worldOf('9'), await worldOf('9'), await worldOf('10')];
  expect(again.projectId).toBe(one.projectId);
  expect(other.projectId).not.toBe(one.projectId);
  const tokens = [one, again].flatMap((each) => Object.values(each.tokens));
  expect(new Set(tokens).size).toBe(tokens.length);
});

refuses(
  [
    [['anexia', '--seed', '-1'], /--seed /],
    [['anexia', '--listen', '0.0.0.0:0'], /--listen .*loopback/],
    [['anexia', '--clock', 'sand'], /--clock .*real, manual/],
    [['anexia', '--state-delay', 'soon'], /--state-delay .*duration/],
    [['anexia', '--faults', '/nowhere/faults.yaml'], /\/nowhere\/faults\.yaml cannot be read/],
    [['anexia', '--faults', '%text.yaml%'], /holds no list/],
    [['latitude', '--faults', '%route.yaml%'], /no route \/nowhere/],
    [['redfish', '--vendor', 'acme'], /--vendor .*generic/],
    [['redfish', '--systems', '1', '--bmcs', '2'], /more BMCs than systems/],
    [['hetzner-robot', '--servers', '0'], /--servers /],
    [['equinix', '--state', '%wrong.json%'], /is not a state file of the emulator/],
  ],
  {
    'text.yaml': 'a: 1\n',
    'route.yaml': '- { match: { route: /nowhere }, effect: { type: status, code: 500 } }\n',
    'wrong.json': '{}',
  },
);

test('tells a user of a former name the new one', async () => {
  const child = run('fakefish', '--profile', 'openbmc');
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(stderr).toMatch(/^shepherd: fakefish is now: shepherd emulate redfish .*\n$/);
  expect(code).toBe(2);
});
