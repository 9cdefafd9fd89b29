import { expect, test } from 'vitest';
import { targetOf } from '../../../../src/adapters/driver-kit/inventory/entries.ts';
import { parseInventory } from '../../../../src/adapters/provider/static/entries.ts';
import { UsageError } from '../../../../src/domain/errors.ts';

const entry = (change: object = {}) => ({
  ID: 'srv-1',
  Addr: '192.0.2.10',
  Location: 'rack-7',
  ...change,
});
const parse = (...entries: unknown[]) => parseInventory(JSON.stringify(entries));
const complaint = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('the inventory was accepted');
};

const KEY_TYPE = 'ssh-ed25519';
const blob = Buffer.concat([
  Buffer.from([0, 0, 0, KEY_TYPE.length]),
  Buffer.from(KEY_TYPE),
  Buffer.from([0, 0, 0, 32]),
  Buffer.alloc(32, 7),
]).toString('base64');

test('reads a minimal entry and a complete one', () => {
  const full = entry({
    ID: 'srv-2',
    Addr: '2001:db8::2',
    Location: '',
    SshUser: 'admin',
    SshPort: 2222,
    HostKey: `${KEY_TYPE} ${blob} a comment`,
    Bmc: 'https://bmc-2.example/redfish/v1/Systems/1',
  });
  const [first, second] = parse(entry(), full);
  expect(first).toEqual({
    id: 'srv-1',
    address: '192.0.2.10',
    location: 'rack-7',
    sshUser: null,
    sshPort: null,
    hostKey: null,
    sshPassword: null,
    bmc: null,
    disk: null,
    reset: null,
  });
  expect(second).toEqual({
    id: 'srv-2',
    address: '2001:db8::2',
    location: null,
    sshUser: 'admin',
    sshPort: 2222,
    hostKey: blob,
    sshPassword: null,
    bmc: 'https://bmc-2.example/redfish/v1/Systems/1',
    disk: null,
    reset: null,
  });
  expect([first!, second!].map(targetOf)).toEqual(['192.0.2.10', '[2001:db8::2]:2222']);
  expect(parse()).toEqual([]);
});

test.each<[object, string]>([
  [{ Addr: 'srv-1.example' }, 'Addr is "srv-1.example"; give an IPv4 or IPv6 address'],
  [{ Addr: '' }, 'Addr is ""'],
  [{ Addr: undefined }, 'Addr is missing'],
  [{ Location: undefined }, 'Location is missing'],
  [{ Location: 7 }, 'Location is 7'],
  [{ ID: 'invalid' }, 'ID is "invalid"'],
  [{ ID: 'x'.repeat(129) }, 'ID is'],
  [{ id: 'srv-1' }, '"id" is unknown'],
  [{ Rack: 1 }, '"Rack" is unknown'],
  [{ SshUser: 'a b' }, 'SshUser is "a b"'],
  [{ SshPort: 0 }, 'SshPort is not a port'],
  [{ SshPort: '22' }, 'SshPort is "22"'],
  [{ HostKey: 'AAAA' }, 'HostKey is "AAAA"'],
  [{ HostKey: `ssh-rsa ${blob}` }, 'HostKey is'],
  [{ Bmc: 'https://root:calvin@bmc' }, 'Bmc is'],
])('refuses %o, and names its entry', (change, expected) => {
  const message = complaint(() => parse(entry({ ID: 'srv-0', Addr: '192.0.2.9' }), entry(change)));
  expect(message).toContain('the inventory is refused: entry 2');
  expect(message).toContain(expected);
});

const names = {
  passwords: new Set<string>(),
  resets: new Map([
    ['old', 'ipmi'],
    ['bmc', 'redfish'],
    ['pdu', 'program'],
  ] as const),
};
const parseResets = (...resets: object[]) =>
  parseInventory(
    JSON.stringify(resets.map((Reset, n) => entry({ ID: `r${n}`, Addr: `192.0.2.${n}`, Reset }))),
    names,
  ).map(({ reset }) => reset);

test('reads how each machine is reset', () => {
  const Guid = '31303043-534D-2500-90D8-7A0000000001';
  const resets = parseResets(
    { By: 'old', Addr: '10.0.0.11', Guid },
    { By: 'old', Addr: 'bmc-2.example', Port: 6230 },
    { By: 'bmc', Bmc: 'https://10.0.0.12', Serial: '7XK2M93' },
    { By: 'pdu', Outlet: 7 },
  );
  expect(resets).toMatchObject([
    { by: 'old', kind: 'ipmi', host: '10.0.0.11', port: 623, guid: Guid.toLowerCase() },
    { by: 'old', kind: 'ipmi', host: 'bmc-2.example', port: 6230, guid: null },
    { by: 'bmc', kind: 'redfish', bmc: { bmc: 'https://10.0.0.12', serial: '7XK2M93' } },
    { by: 'pdu', kind: 'program', data: { Outlet: 7 } },
  ]);
});

test.each<[object[], string]>([
  [[{ By: 'ipmi' }], 'entry 1 ("r0"): Reset By is "ipmi"; give one of old'],
  [[{}], 'entry 1 ("r0"): Reset By is missing; give the name of a reset of this provider'],
  [[{ By: 'old' }], 'entry 1 ("r0"): Reset Addr is missing; give an address or a host name'],
  [[{ By: 'old', Addr: '-f/etc/passwd' }], 'Reset Addr is "-f/etc/passwd"'],
  [[{ By: 'old', Addr: 'a', Port: 0 }], 'Reset Port is not a port'],
  [[{ By: 'old', Addr: 'a', Guid: '1' }], 'Reset Guid is "1"'],
  [[{ By: 'old', Addr: 'a', Outlet: 7 }], 'entry 1 ("r0"): Reset "Outlet" is unknown'],
  [[{ By: 'bmc', Bmc: 'http://10.0.0.12' }], 'Reset Bmc is "http://10.0.0.12"'],
  [[{ By: 'pdu', id: 'other' }], 'Reset "id" is a key of ours'],
  [
    [
      { By: 'old', Addr: 'a' },
      { By: 'old', Addr: 'A', Port: 623 },
    ],
    'entry "r1": Reset Addr is the same as that of "r0"',
  ],
  [
    [
      { By: 'bmc', Bmc: 'https://a' },
      { By: 'bmc', Bmc: 'https://a' },
    ],
    'entry "r1": Bmc is also that of "r0"; give each its System',
  ],
])('refuses the resets %o', (resets, expected) => {
  expect(complaint(() => parseResets(...resets))).toContain(expected);
});

test('refuses a Reset where the provider has none', () => {
  const message = complaint(() => parse(entry({ Reset: { By: 'old', Addr: 'a' } })));
  expect(message).toContain('this provider has no resets');
});

test.each<[string, string]>([
  ['{"ID":"a"}', 'is not a JSON array'],
  ['[] []', 'is not JSON'],
  ['[],', 'is not JSON'],
  ['', 'is not JSON'],
  ['[null]', 'entry 1: is no object'],
])('refuses %s', (content, expected) => {
  expect(complaint(() => parseInventory(content))).toContain(expected);
});

test('refuses duplicates', () => {
  const message = complaint(() =>
    parse(entry(), entry({ Addr: '192.0.2.11' }), entry({ ID: 'b' })),
  );
  expect(message).toContain('entry "srv-1": ID is the same as that of "srv-1"');
  expect(message).toContain('entry "b": Addr is the same as that of "srv-1"');
  const ports = [entry({ SshPort: 1 }), entry({ ID: 'b', SshPort: 2 })];
  expect(parse(...ports), 'two ports of one address are two machines').toHaveLength(2);
});

test.each([
  [{ Addr: '192.0.2.1' }, { Addr: '192.0.2.1', SshPort: 22 }],
  [{ Addr: '2001:db8::2' }, { Addr: '2001:DB8:0:0::2' }],
  [{ Addr: '::ffff:192.0.2.1' }, { Addr: '192.0.2.1' }],
  [
    { Addr: '::ffff:c000:201', SshPort: 7 },
    { Addr: '::ffff:192.0.2.1', SshPort: 7 },
  ],
  [{ Addr: 'fe80::1%eth0' }, { Addr: 'FE80:0::1%eth0' }],
])('refuses %o and %o as one host', (one, other) => {
  const both = () => parse(entry(one), entry({ ID: 'b', ...other }));
  expect(complaint(both)).toContain('entry "b": Addr is the same as that of "srv-1"');
});

test('treats two links, or two ports, as two hosts', () => {
  const one = entry({ Addr: 'fe80::1%eth0' });
  expect(parse(one, entry({ ID: 'b', Addr: 'fe80::1%eth1' }))).toHaveLength(2);
  expect(parse(one, entry({ ID: 'b', Addr: 'fe80::1%eth0', SshPort: 23 }))).toHaveLength(2);
});

test.each([
  ['[{"ID":"a","Addr":"192.0.2.1","Location":"","ID":"b"}]', '"ID" twice'],
  ['[{"ID":"a","Addr":"192.0.2.1","Location":"","\\u0049D":"b"}]', '"ID" twice'],
])('refuses a duplicate key in %s', (content, expected) => {
  expect(complaint(() => parseInventory(content))).toContain(expected);
});

test('counts only keys, and only those of one object', () => {
  const tricky = entry({ ID: 'a":"{ID":\\', Location: '{"ID":1,"ID":2}' });
  expect(parse(tricky, entry({ ID: 'b', Addr: '192.0.2.12' }))).toHaveLength(2);
  expect(complaint(() => parse(entry({ Bmc: { ID: 1 } })))).not.toContain('twice');
});

test('reads a value of many megabytes', () => {
  const long = JSON.stringify([entry({ Location: 'x\n'.repeat(3_000_000) })]);
  expect(complaint(() => parseInventory(long))).toContain('Location');
});

test('reports the first of very many faults, and the number of the others', () => {
  const message = complaint(() => parse(...Array.from({ length: 30 }, () => null)));
  expect(message).toMatch(/entry 20: is no object; and 10 more$/);
});
