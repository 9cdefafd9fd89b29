import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { BalancerDriver, LoadBalancer } from '../../src/adapters/balancer/port.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { DRIVERS } from '../../src/adapters/provider/drivers.ts';
import { parseConfig } from '../../src/config.ts';
import { checkAround } from '../../src/daemon/check.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import * as leaf from '../../src/settings/leaves.ts';
import { issue, type Issued } from '../support/certificates.ts';

const ENDPOINT = 'fleet.example.org';
let ca: Issued;
let other: Issued;
let server: Issued;
beforeAll(async () => {
  ca = await issue({ name: 'CN=right authority' });
  other = await issue({ name: 'CN=wrong authority' });
  server = await issue({ name: 'CN=server', names: [ENDPOINT, '192.0.2.1'], by: ca });
});

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shepherd-check-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  put('server.key', server.key);
  put('server.pem', server.cert);
  put('ca.pem', ca.cert);
  put('inventory.json', JSON.stringify([{ ID: 'a', Addr: '192.0.2.2', Location: '' }]));
});
const put = (name: string, content: string | Buffer, mode = 0o600) => {
  writeFileSync(join(dir, name), content);
  chmodSync(join(dir, name), mode);
};

interface ConfigChanges {
  readonly agent?: object;
  readonly agentServer?: object;
  readonly ssh?: object;
  readonly database?: object;
  readonly providers?: object;
  readonly balancers?: object;
}
const RACK = {
  driver: 'static',
  instanceSetId: 'zzzzz-zzzzz-zzzzzzzzzzzzzzz',
  inventory: 'file:inventory.json',
  hostKeyPolicy: 'tofu',
};
const config = (
  changes: ConfigChanges = {},
  balancerDrivers?: ReadonlyMap<string, BalancerDriver>,
) =>
  parseConfig(
    {
      database: { embedded: { dataDir: 'made/data' } },
      providers: { rack: RACK },
      agent: { endpoint: `${ENDPOINT}:8080`, endpointCaCertificatePath: 'ca.pem' },
      ssh: { keyPath: 'made/ssh.key' },
      agentServer: { keyPath: 'server.key', certificatePath: 'server.pem' },
      ...changes,
    },
    { baseDirectory: dir, checkFiles: true },
    balancerDrivers && { balancers: balancerDrivers },
  );
/** `path: message`, with a mark for warnings. */
const findings = async (changes?: ConfigChanges) => {
  const means = { clock: systemClock, random: systemRandom, version: '0' };
  const found = await checkAround(config(changes), means);
  return found.map(
    ({ path, message, isWarning }) => `${isWarning ? 'warning ' : ''}${path.join('.')} ${message}`,
  );
};
const only = (text: string | RegExp) => [expect.stringMatching(text)];

test('C6: accepts a good configuration, and creates nothing', async () => {
  const before = readdirSync(dir);
  expect(await findings()).toEqual([]);
  expect(readdirSync(dir)).toEqual(before);
});

describe('a balancer', () => {
  const shelf = (own: Partial<BalancerDriver>) =>
    driverTable<BalancerDriver>([
      {
        name: 'shelf',
        settings: () => z.strictObject({ door: leaf.text('Where it is reached.') }),
        open: () => tellTaleBalancer().balancer,
        ...own,
      },
    ]);
  const said = async (balancerDrivers: ReturnType<typeof shelf>) => {
    const balancers = { edge: { driver: 'shelf', door: 'front' } };
    const means = { clock: systemClock, random: systemRandom, version: '0', balancerDrivers };
    const found = await checkAround(config({ balancers }, balancerDrivers), means);
    return found.map(({ path, message }) => `${path.join('.')} ${message}`);
  };

  test('is closed again after opening, without any request', async () => {
    const { balancer, calls } = tellTaleBalancer();
    expect(await said(shelf({ open: () => balancer }))).toEqual([]);
    expect(calls).toEqual(['close']);
  });

  test('with contradictory settings', async () => {
    const open = () => {
      throw new UsageError('front and back are one door');
    };
    expect(await said(shelf({ open }))).toEqual([
      'balancers.edge is refused: front and back are one door',
    ]);
  });

  test('with settings that its driver refuses', async () => {
    const check = async () => [{ key: 'door', message: 'is not there; make it' }];
    expect(await said(shelf({ check }))).toEqual(['balancers.edge.door is not there; make it']);
  });
});

/** A balancer that only records calls. */
function tellTaleBalancer() {
  const calls: string[] = [];
  const balancer = new Proxy(
    {},
    {
      get: (_, name) => async () => {
        calls.push(String(name));
      },
    },
  ) as LoadBalancer;
  return { balancer, calls };
}

describe('C6: the certificate of the agent server', () => {
  test('with the key of another certificate', async () => {
    put('server.key', other.key);
    expect(await findings()).toEqual(only(/^agentServer\.keyPath does not match .*of CN=server/));
  });

  test.each(['no key at all', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'])(
    'with a file that is no key: %s',
    async (content) => {
      put('server.key', content);
      expect(await findings()).toEqual(
        only(/^agentServer\.keyPath contains no readable private key/),
      );
    },
  );

  test('with a key that needs a passphrase', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'secret' };
    put('server.key', privateKey.export({ type: 'pkcs8', format: 'pem', ...cipher }));
    expect(await findings()).toEqual(
      only(/^agentServer\.keyPath contains no .*without a passphrase/),
    );
  });

  test.each(['other.example.org', '192.0.2.7', '[2001:db8::1]'])(
    'that does not name the endpoint %s',
    async (host) => {
      const agent = { endpoint: `${host}:8080`, endpointCaCertificatePath: 'ca.pem' };
      const said = await findings({ agent });
      expect(said).toEqual(only(/^agent\.endpoint does not match .*DNS:fleet\.example\.org/));
    },
  );

  test('that names the address used as the endpoint', async () => {
    const agent = { endpoint: '192.0.2.1:8080', endpointCaCertificatePath: 'ca.pem' };
    expect(await findings({ agent })).toEqual([]);
  });

  test('that does not name the listen address, without an endpoint', async () => {
    const agent = { endpointCaCertificatePath: 'ca.pem' };
    const keys = { keyPath: 'server.key', certificatePath: 'server.pem' };
    const agentServer = { listen: '192.0.2.9:8080', ...keys };
    const said = await findings({ agent, agentServer });
    expect(said).toEqual(only(/^agentServer\.listen does not match .*192\.0\.2\.9/));
  });

  test('signed by another authority', async () => {
    put('ca.pem', other.cert);
    expect(await findings()).toEqual(
      only(/^agent\.endpointCaCertificatePath .*CN=wrong authority.*did not sign.*CN=right auth/),
    );
  });

  test('signed by an authority of the same name', async () => {
    put('ca.pem', (await issue({ name: 'CN=right authority' })).cert);
    expect(await findings()).toEqual(only(/^agent\.endpointCaCertificatePath .*did not sign/));
  });

  test('not usable for servers', async () => {
    const usage = '1.3.6.1.5.5.7.3.2';
    const client = await issue({ names: [ENDPOINT], by: ca, usage, name: 'CN=client' });
    put('server.key', client.key);
    put('server.pem', client.cert);
    expect(await findings()).toEqual(only(/serverAuth.*INVALID_PURPOSE/));
  });

  test('self-signed and its own authority', async () => {
    const own = await issue({ names: [ENDPOINT], name: 'CN=own' });
    put('server.key', own.key);
    put('server.pem', own.cert);
    put('ca.pem', own.cert);
    expect(await findings()).toEqual([]);
  });

  test('without an authority known to agents: warns', async () => {
    const said = await findings({ agent: { endpoint: `${ENDPOINT}:8080` } });
    expect(said).toEqual(only(/^warning agent\.endpointCaCertificatePath is missing/));
  });

  describe('with an intermediate authority', () => {
    beforeEach(async () => {
      const between = await issue({ name: 'CN=between', by: ca });
      const end = await issue({ name: 'CN=server', names: [ENDPOINT], by: between });
      put('server.key', end.key);
      put('server.pem', end.cert + between.cert);
      put('between.pem', between.cert);
      put('end.pem', end.cert);
    });

    test('is accepted', async () => expect(await findings()).toEqual([]));

    test('left out of the chain: no agent can verify', async () => {
      const agentServer = { keyPath: 'server.key', certificatePath: 'end.pem' };
      expect(await findings({ agentServer })).toEqual(
        only(/^agent\.endpointCaCertificatePath .*did not sign.*to certificatePath/),
      );
    });

    test('given in place of the authority: agents need the root', async () => {
      const endpointCaCertificatePath = 'between.pem';
      const agent = { endpoint: `${ENDPOINT}:8080`, endpointCaCertificatePath };
      expect(await findings({ agent })).toEqual(
        only(/^agent\.endpointCaCertificatePath .*agents need the root/),
      );
    });
  });

  const times = [
    ['that expired', { fromDays: -9, toDays: -2 }, /^agentServer\.certificatePath .*expired at/],
    ['that is too new', { fromDays: 2 }, /^agentServer\.certificatePath .*not valid before/],
    ['that expires soon', { toDays: 3 }, /^warning agentServer\.certificatePath .*expires at/],
  ] as const;
  test.each(times)('%s', async (_, when, text) => {
    const late = await issue({ names: [ENDPOINT], by: ca, name: 'CN=late', ...when });
    put('server.key', late.key);
    put('server.pem', late.cert);
    expect(await findings()).toEqual(only(text));
    put('ca.pem', other.cert);
    expect(await findings(), 'and that its authority is another').toEqual([
      ...only(text),
      ...only(/^agent\.endpointCaCertificatePath .*did not sign/),
    ]);
  });

  test('with an expired authority', async () => {
    const old = await issue({ name: 'CN=old', fromDays: -9, toDays: -2 });
    const young = await issue({ names: [ENDPOINT], by: old, name: 'CN=young' });
    put('server.key', young.key);
    put('server.pem', young.cert);
    put('ca.pem', old.cert);
    expect(await findings()).toEqual(only(/^agent\.endpointCaCertificatePath .*CN=old.*expired/));
  });
});

describe('C6: files readable by others', () => {
  test('the key of the agent server', async () => {
    put('server.key', server.key, 0o644);
    expect(await findings()).toEqual(
      only(/^agentServer\.keyPath .*others may read; run chmod 600/),
    );
    put('server.key', server.key, 0o640);
    expect(await findings()).toEqual(only(/^warning agentServer\.keyPath .*its group .* may read/));
  });

  test('a key owned by another user', async () => {
    if (process.geteuid!() === 0) chownSync(join(dir, 'server.key'), 12_345, 0);
    else vi.spyOn(process, 'geteuid').mockReturnValue(12_345);
    expect(await findings()).toContainEqual(expect.stringMatching(/keyPath .*another user \(uid/));
  });

  test('SSH keys, each by itself', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    put('open.key', pem, 0o644);
    put('good.key', pem);
    put('junk.key', 'junk');
    const keyPath = 'open.key';
    const said = await findings({ ssh: { keyPath, previousKeyPaths: ['good.key', 'junk.key'] } });
    expect(said).toEqual([
      expect.stringMatching(/^ssh\.keyPath .*open to others \(mode 0644\); make it 0400 or 0600/),
      expect.stringMatching(/^ssh\.previousKeyPaths\.1 .*contains no SSH key/),
    ]);
  });
});

test('C6: directories that cannot be created', async () => {
  put('file', 'no directory');
  const said = await findings({
    database: { embedded: { dataDir: 'file/data' } },
    ssh: { keyPath: 'file/ssh.key' },
    agentServer: { devCertificates: { dir: 'file/certificates' } },
  });
  const refused = ['database.embedded.dataDir', 'ssh.keyPath', 'agentServer.devCertificates.dir'];
  expect(said.filter((line) => !line.startsWith('warning'))).toEqual(
    refused.map((path) => expect.stringMatching(`^${path} .*(is not a|: not a) directory`)),
  );
});

test('C6: certificates that another user may have written', async () => {
  const shared = join(dir, 'shared');
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  const look = () => findings({ agentServer: { devCertificates: { dir: 'shared' } } });
  const mistake = /^agentServer\.devCertificates\.dir .*other users may write to .*it is not empty/;
  expect(await look()).not.toContainEqual(expect.stringMatching(mistake));
  writeFileSync(join(shared, 'ca.pem'), '');
  expect(await look()).toContainEqual(expect.stringMatching(mistake));
});

test('C6: a database directory with other contents', async () => {
  const said = await findings({ database: { embedded: { dataDir: '.' } } });
  expect(said).toEqual(only(/^database\.embedded\.dataDir .*contains other files/));
});

describe('C6: an inventory', () => {
  test('missing', async () => {
    const rack = { ...RACK, inventory: 'file:absent.json' };
    expect(await findings({ providers: { rack } })).toEqual(
      only(/^providers\.rack\.inventory .*absent\.json cannot be read.*ENOENT/),
    );
  });

  test('with mistakes: names all of them', async () => {
    put('inventory.json', JSON.stringify([{ ID: 'a', Addr: 'nowhere', Location: 1 }, { ID: 'b' }]));
    const [said = '', ...more] = await findings();
    expect(more).toEqual([]);
    expect(said).toMatch(/^providers\.rack\.inventory .*entry 1 \("a"\): Addr.*Location.*entry 2/);
  });

  test('whose machines need a host key, and have none: warns', async () => {
    const { hostKeyPolicy: _, ...rack } = RACK;
    expect(await findings({ providers: { rack } })).toEqual(
      only(
        /^warning providers\.rack\.inventory names no HostKey for a, and hostKeyPolicy is strict/,
      ),
    );
  });
});

test('C6: settings that a driver refuses when it opens', async () => {
  vi.spyOn(DRIVERS.get('static')!, 'open').mockImplementation(() => {
    throw new UsageError('two keys contradict each other');
  });
  expect(await findings()).toEqual(only(/^providers\.rack is refused: .*two keys contradict/));
});

test('C6: an executable for another processor', async () => {
  const elf = Buffer.alloc(64);
  elf.write('\x7fELF', 'latin1');
  elf.writeUInt16LE(183, 18);
  put('agent', elf);
  const agent = { endpoint: `${ENDPOINT}:8080`, endpointCaCertificatePath: 'ca.pem' };
  expect(
    await findings({ agent: { ...agent, executables: { x64: 'agent', arm64: 'agent' } } }),
  ).toEqual(only(/^agent\.executables\.x64 .*another processor/));
});

test('C6: everything at once', async () => {
  put('server.key', other.key, 0o644);
  put('ca.pem', other.cert);
  put('inventory.json', 'no JSON');
  put('ssh.key', 'junk');
  const agent = { endpoint: 'elsewhere:8080', endpointCaCertificatePath: 'ca.pem' };
  const said = await findings({ agent, ssh: { keyPath: 'ssh.key' } });
  expect(said.map((line) => line.split(' ')[0])).toEqual([
    'providers.rack.inventory',
    'ssh.keyPath',
    'agentServer.keyPath',
    'agentServer.keyPath',
    'agent.endpoint',
    'agent.endpointCaCertificatePath',
  ]);
});
