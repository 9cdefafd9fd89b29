import { expect, test } from 'vitest';
import { faultOf } from '../../../src/adapters/driver-kit/entries.ts';
import { adoptedEntry, serveAdopted } from './adopted-list.ts';
import { failureOf } from './driver-stand.ts';
import * as robot from './hetzner-robot/stand.ts';
import * as latitude from './latitude/stand.ts';

/** Replies that public clients of the vendors publish, cut to the fields that a driver may read. */

const NET = '2a01:4f8:111:4221::';
// nl2go/hrobot-go and syself/hrobot-go: a list has neither `reset` nor `rescue`.
const entryOf = (change: object) => ({
  ...{ server_ip: '123.123.123.123', server_number: 321, server_name: 'server1', product: 'X5' },
  ...{ dc: 'NBG1-DC1', status: 'ready', cancelled: false, paid_until: '2010-06-11' },
  ...{ ip: ['123.123.123.123'], subnet: null, ...change },
});
const V4 = '123.123.123.123';
const NO_V4 = { server_ip: null, ip: null, paid_until: '1970-01-01' };
const routed = (mask: string) => ({ subnet: [{ ip: '178.63.1.8', mask }] });

test.each([
  [V4, {}],
  [V4, { server_ipv6_net: NET, subnet: [{ ip: NET, mask: '64' }] }],
  // ansible-collections/community.hrobot; MathiasPius/hrobot-rs; ervinb/hetzner-robot-api
  [V4, { cancelled: true, status: 'in process' }],
  [V4, { status: 'in progress', server_name: '' }],
  // aszlig/hetzner, issue 53: a server with IPv6 only, and a rack.
  [`[${NET}1]`, { ...NO_V4, server_ipv6_net: NET }],
  [null, { ...NO_V4, product: 'Colocation Rack Basic' }],
  [/reports no address .* says 10\.0\.0\.9/, NO_V4, '10.0.0.9'],
  // zackpollard/terraform-provider-hetzner
  ['[2a01:4f8::1]', { server_ip: '', server_ipv6_net: '2a01:4f8::/64' }],
  ['178.63.1.9', routed('29'), '178.63.1.9'],
  [/reports 123\.123\.123\.123, 178\.63\.1\.8\/29 for/, routed('29'), '178.63.1.16'],
  [/reports 123\.123\.123\.123, 178\.63\.1\.8\/255/, routed('255.255.255.248'), '178.63.1.9'],
  [/reports 123\.123\.123\.123, 178\.63\.1\.8\/ for/, routed(''), '178.63.1.9'],
  [/^its entry is malformed$/, { status: 7 }],
] as const)('the address or the fault of an adopted Robot server is %j: %j', async (...row) => {
  const [expected, server, Addr] = row;
  const { by, run, fake } = await startRobot({ ...(Addr && { Addr }) });
  // ansible-collections/community.hrobot: an inventory with nothing but a number.
  const body = [{ server: entryOf(server) }, { server: { server_number: 5 } }];
  fake.addFault(robot.at('GET /server', { type: 'status', code: 200, body }));
  const { machines, complete, unreadable } = await run(by.listMachines({}, robot.callOf()));
  const [machine, bare = machine] = machines;
  expect([complete, faultOf(machine!), faultOf(bare!)]).toEqual([true, null, null]);
  expect(bare).toMatchObject({ id: '5', plan: '', address: null });
  if (expected instanceof RegExp) expect(unreadable![0]!.fault).toMatch(expected);
  else expect(machine).toMatchObject({ id: '321', address: expected });
});

async function startRobot(entry: object = {}) {
  const stand = await robot.startStand({ servers: [] });
  const { url } = serveAdopted(stand.network, adoptedEntry('321', entry), adoptedEntry('5'));
  const none = { namePrefix: undefined, freePrefix: undefined, sshKeyName: undefined };
  const by = stand.daemon({ settings: { ...none, imageUrl: undefined, adopt: url } });
  return { ...stand, by };
}

const typesOf = (type?: readonly string[], operating_status = 'not supported') => ({
  reset: { server_number: 321, type, operating_status },
});
const refusal = (status: number, code: string) => ({ error: { status, code, message: code } });
const USUAL = typesOf(['sw', 'hw', 'man']);
const SHUT_OFF = typesOf(['sw', 'hw', 'power', 'power_long', 'man'], 'shut off');
const NEVER = { kind: 'not-implemented' };

test.each([
  // floshodan/hrobot-go and SylphxAI/cluster-api-provider-hetzner-robot send the same forms.
  ['graceful', USUAL, ['sw'], null],
  ['force', USUAL, ['hw'], null],
  ['off', USUAL, [], NEVER],
  // aszlig/hetzner
  ['off', SHUT_OFF, [], null],
  // ansible-collections/community.hrobot, tests of `reset` and `reset_info`
  ['force', typesOf(), [], NEVER],
  ['force', refusal(404, 'RESET_NOT_AVAILABLE'), [], NEVER],
  ['force', USUAL, ['hw'], { outcome: 'not-done' }, refusal(400, 'INVALID_INPUT')],
  ['force', USUAL, ['hw'], { outcome: 'not-done' }, refusal(409, 'RESET_MANUAL_ACTIVE')],
  ['force', USUAL, ['hw'], { outcome: 'unknown' }, refusal(500, 'RESET_FAILED')],
] as const)('a Robot server %s: %j, sends %j', async (how, types, forms, fails, reply?) => {
  const { by, run, fake } = await startRobot();
  const answer = (line: string, body: object) => {
    const { error } = body as Partial<ReturnType<typeof refusal>>;
    fake.addFault(robot.at(line, { type: 'status', code: error?.status ?? 200, body }));
  };
  answer('GET /server/{n}', { server: { ...entryOf({}), reset: true, rescue: true } });
  // ytspar/hetzner-robot-cli
  answer('GET /boot/{n}', { boot: { rescue: null, linux: null } });
  answer('GET /reset/{n}', types);
  answer('POST /reset/{n}', reply ?? { reset: { server_number: 321, type: 'sw' } });
  const call = robot.callOf();
  const sent = how === 'off' ? by.setPower!('321', how, call) : by.rebootMachine('321', how, call);
  if (fails) expect(await failureOf(run(sent))).toMatchObject(fails);
  else await run(sent);
  const posts = fake.requests().filter(({ method }) => method === 'POST');
  expect(posts).toMatchObject(forms.map((type) => ({ path: '/reset/321', body: { type } })));
});

// latitudesh/latitudesh-go and latitudesh/terraform-provider-latitudesh: recorded replies
const usual = {
  ...{ hostname: 'test', role: 'Bare Metal', status: 'on', primary_ipv4: '103.88.235.22' },
  ...{ scheduled_deletion_at: null, locked: false, region: { site: { slug: 'SAO' } } },
  plan: { name: 'c2.small.x86', slug: 'c2-small-x86', billing: 'hourly' },
  operating_system: { slug: 'ubuntu_24_04_x64_lts' },
};

test('adopts servers of recorded Latitude.sh lists, and resets them as the clients do', async () => {
  const { fake, network, fleet, run, log, fails } = await latitude.startStand();
  const project = { id: fake.project };
  const data = Object.entries({
    sv_usual: { ...usual, project },
    sv_v6: { ...usual, project, primary_ipv4: null, primary_ipv6: '2001:db8::1', status: 'off' },
    sv_odd: { ...usual, project, status: 'rescue_mode', region: null, site: 'ASH', role: null },
    // latitudesh/latitudesh-typescript-sdk: the least that a server has.
    srv_minimal: { hostname: 'minimal', status: 'on' },
    sv_elsewhere: { ...usual, project: { id: 'proj_lnow0OWXg09x1' } },
    // latitudesh/terraform-provider-latitudesh, issue 45: once, projects had numbers.
    sv_number: { ...usual, project: { id: 17 } },
  }).map(([id, attributes]) => ({ id, type: 'servers', attributes }));
  const list = serveAdopted(network, ...data.map(({ id }) => adoptedEntry(id)));
  const none = { slots: undefined, namePrefix: undefined, sshKeyName: undefined };
  const by = fleet({ settings: { ...none, adopt: list.url } });
  const answer = (match: object, code: number, body: object, times?: number) =>
    fake.addFault({ match, effect: { type: 'status', code, body }, ...(times && { times }) });
  // A list without a total.
  answer({ method: 'GET', route: '/servers', page: 1 }, 200, { data, meta: {} });
  const { machines, complete, unreadable } = await run(by.listMachines(latitude.live));
  expect(machines).toMatchObject([
    { id: 'sv_usual', location: 'SAO', address: '103.88.235.22', status: 'Running', power: 'on' },
    { id: 'sv_v6', address: '[2001:db8::1]', status: 'Stopped', power: 'off' },
    { id: 'sv_odd', location: 'ASH', status: 'Unknown', power: 'on' },
    { id: 'srv_minimal', plan: '', location: null, address: null, status: 'Running' },
  ]);
  expect([complete, unreadable?.map(({ id }) => id)]).toEqual([true, ['sv_number']]);
  expect(log.count('some adopted servers are not as their list says'), 'elsewhere').toBe(1);
  await fails(by.getMachine('sv_elsewhere', latitude.live), { kind: 'not-found' });
  // latitudesh/latitudesh-typescript-sdk and latitudesh/lsh
  answer({ method: 'GET', route: '/servers/{id}' }, 200, { data: data[0]! });
  const act = { method: 'POST', route: '/servers/{id}/actions' };
  answer(act, 423, { error: { message: 'Server is locked', code: 'resource_locked' } }, 1);
  answer(act, 201, { data: { id: 'action_1', type: 'actions', attributes: {} } });
  await fails(by.rebootMachine('sv_usual', 'force', latitude.live), { kind: 'conflict' });
  await run(by.rebootMachine('sv_usual', 'force', latitude.live));
  expect(fake.requests().at(-1)).toMatchObject({
    ...{ method: 'POST', path: '/servers/sv_usual/actions' },
    body: { data: { type: 'actions', attributes: { action: 'reboot' } } },
  });
});
