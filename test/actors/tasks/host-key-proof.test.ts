import { describe, expect, test } from 'vitest';
import { proveHostKey } from '../../../src/actors/tasks/host-key-proof.ts';
import type { HostKeyPolicy } from '../../../src/domain/policy.ts';
import { readBootId } from '../../../src/actors/tasks/task.ts';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { hashOf, newSecret } from '../../../src/adapters/driver-kit/creation.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import {
  CommandFailed,
  explain,
  HostKeyRejected,
  ProviderError,
  RemoteFailure,
  Unreachable,
} from '../../../src/domain/errors.ts';
import type { ProviderMachine } from '../../../src/domain/machine.ts';
import {
  INSTANCE_SECRET_PATH,
  SECRET_TAG,
} from '../../../src/domain/provisioning/provider-tags.ts';
import { device } from '../../support/facts.ts';
import { scriptedProvider } from '../../doubles/scripted-provider.ts';
import { testRows } from '../../support/rows.ts';

const KEY = Buffer.from('the key').toString('base64');
const OTHER_KEY = Buffer.from('other key').toString('base64');
const POLICIES: readonly HostKeyPolicy[] = ['strict', 'tofu', 'insecure'];
const SECRET = newSecret(systemRandom);
const WITH_HASH = { tags: { [SECRET_TAG]: hashOf(SECRET) } };
const HEARING_NOTHING = { run: () => Promise.reject(new RemoteFailure('no such file')) };

interface ProofCase {
  readonly policy?: HostKeyPolicy;
  readonly pinned?: string | null;
  readonly machine?: Partial<ProviderMachine>;
  readonly verifyHostKey?: FleetProvider['verifyHostKey'];
  /** The machine's output; default: the right secret. */
  readonly run?: () => Promise<string>;
}

/** One host with `KEY`. Returns the commands, and whether the connection was closed. */
async function prove(given: ProofCase) {
  const commands: string[] = [];
  let closed = false;
  let changed = 0;
  const session: ShellSession = {
    hostKey: KEY,
    upload: () => Promise.reject(new Error('nothing may be uploaded')),
    async execute(argv, stdin) {
      expect(stdin).toHaveLength(0);
      commands.push(argv.join(' '));
      const stdout = Buffer.from(await (given.run ?? (async () => SECRET))());
      return { stdout, stderr: Buffer.alloc(0) };
    },
    close: () => void (closed = true),
  };
  const result = await proveHostKey({
    provider: scriptedProvider(given.verifyHostKey && { verifyHostKey: given.verifyHostKey }),
    machine: device({ address: '192.0.2.1', ...given.machine }),
    session,
    policy: given.policy ?? 'tofu',
    pinned: given.pinned ?? null,
    signal: new AbortController().signal,
    onChanged: () => void changed++,
  }).then(
    (evidence) => ({ evidence, error: null }),
    (error: unknown) => ({ evidence: null, error }),
  );
  expect(closed, 'closed if, and only if, it was refused').toBe(result.error !== null);
  const isOther = /differs from|another host key|bad instance secret/.test(explain(result.error));
  expect(changed, 'counted if, and only if, it is another host').toBe(isOther ? 1 : 0);
  return { ...result, commands };
}

const REJECTED = { error: expect.any(HostKeyRejected) };
const CAT = `cat ${INSTANCE_SECRET_PATH}`;

describe('provider vector 18: a driver without means to verify', () => {
  testRows(POLICIES)('accepts the right secret as proof (%s)', async (policy) => {
    const { evidence, commands } = await prove({ policy, machine: WITH_HASH });
    expect({ evidence, commands }).toEqual({ evidence: 'secret', commands: [CAT] });
  });

  const wrong = {
    another: newSecret(systemRandom),
    'none at all': '',
    'with a line end': `${SECRET}\n`,
    'in capitals': SECRET.toUpperCase().replace(/^./, 'X'),
    'its own hash': hashOf(SECRET),
  };
  for (const policy of POLICIES) {
    testRows(Object.entries(wrong))(`refuses a wrong secret (${policy}): %s`, async (_, said) => {
      const refused = await prove({ policy, machine: WITH_HASH, run: async () => said });
      expect(refused).toMatchObject({ ...REJECTED, commands: [CAT] });
    });
  }

  test('shows the secret in no error', async () => {
    const said = newSecret(systemRandom);
    const { error } = await prove({ machine: WITH_HASH, run: async () => said });
    const text = JSON.stringify([String(error), (error as Error).stack]);
    expect(text).not.toContain(said);
    expect(text).not.toContain(hashOf(SECRET));
  });

  testRows(['', 'zz', hashOf(SECRET).slice(0, 16)])(
    'refuses a tag that is no hash (%j)',
    async (hash) => {
      const machine = { tags: { [SECRET_TAG]: hash } };
      expect(await prove({ machine })).toMatchObject(REJECTED);
    },
  );

  test('accepts a hash in capital letters', async () => {
    const machine = { tags: { [SECRET_TAG]: hashOf(SECRET).toUpperCase() } };
    expect((await prove({ machine })).evidence).toBe('secret');
  });

  test('B4: says under strict what it saw and what the provider advises', async () => {
    const says = 'give its entry a HostKey';
    const verifyHostKey = () => Promise.reject(new ProviderError('not-implemented', says));
    const { error } = await prove({ policy: 'strict', verifyHostKey });
    expect(explain(error)).toMatch(
      /^no host key is known, and policy is strict; it shows SHA256:\S+: give its entry a HostKey$/,
    );
  });

  test('refuses under strict without a secret and runs nothing', async () => {
    expect(await prove({ policy: 'strict' })).toMatchObject({ ...REJECTED, commands: [] });
  });

  testRows([
    ['tofu', 'first-use'],
    ['insecure', 'insecure'],
  ] as const)('accepts under %s without a secret', async (policy, evidence) => {
    expect(await prove({ policy })).toMatchObject({ evidence, commands: [] });
  });

  testRows(['strict', 'tofu'] as const)('fails with a missing secret (%s)', async (policy) => {
    const { error } = await prove({ policy, machine: WITH_HASH, ...HEARING_NOTHING });
    expect(error).toBeInstanceOf(RemoteFailure);
  });

  test('accepts an unreadable secret under a policy that accepts any host', async () => {
    const given = { policy: 'insecure', machine: WITH_HASH, ...HEARING_NOTHING } as const;
    expect((await prove(given)).evidence).toBe('insecure');
  });
});

describe('provider vector 19: a changed host key', () => {
  testRows(['strict', 'tofu'] as const)(
    'is refused without a reinstallation by us (%s)',
    async (policy) => {
      const accepts = async () => undefined;
      const pinned = OTHER_KEY;
      for (const machine of [{}, WITH_HASH, { hostKey: KEY }]) {
        const refused = await prove({ policy, pinned, machine, verifyHostKey: accepts });
        expect(refused).toMatchObject({ ...REJECTED, commands: [] });
      }
    },
  );

  test('is verified again and accepted after a reinstallation by us', async () => {
    const { evidence, commands } = await prove({ pinned: null, machine: WITH_HASH });
    expect({ evidence, commands }).toEqual({ evidence: 'secret', commands: [CAT] });
  });

  test('is refused after a reinstallation when it shows the old secret', async () => {
    const before = newSecret(systemRandom);
    const again = await prove({ pinned: null, machine: WITH_HASH, run: async () => before });
    expect(again).toMatchObject(REJECTED);
  });
});

describe('proof of a host key', () => {
  testRows(POLICIES)('is not repeated for a pinned key (%s)', async (policy) => {
    const verifyHostKey = () => Promise.reject(new Error('asked'));
    const given = { policy, pinned: KEY, machine: WITH_HASH, verifyHostKey };
    expect(await prove(given)).toMatchObject({ evidence: 'pinned', commands: [] });
  });

  testRows(POLICIES)('by the inventory suffices (%s)', async (policy) => {
    expect(await prove({ policy, machine: { hostKey: KEY } })).toMatchObject({
      evidence: 'inventory',
      commands: [],
    });
  });

  testRows(['strict', 'tofu'] as const)(
    'fails when the inventory contradicts (%s)',
    async (policy) => {
      const machine = { ...WITH_HASH, hostKey: OTHER_KEY };
      expect(await prove({ policy, machine })).toMatchObject({ ...REJECTED, commands: [] });
    },
  );

  test('fails for a pinned key that the inventory contradicts', async () => {
    const machine = { ...WITH_HASH, hostKey: OTHER_KEY };
    const found = await prove({ policy: 'tofu', machine, pinned: KEY });
    expect(found).toMatchObject({ ...REJECTED, commands: [] });
  });

  testRows(POLICIES)('succeeds when the provider vouches for it (%s)', async (policy) => {
    const asked: string[] = [];
    const verifyHostKey: FleetProvider['verifyHostKey'] = async (machine, key) =>
      void asked.push(`${machine.id} ${key.toString()}`);
    const found = await prove({ policy, machine: WITH_HASH, verifyHostKey });
    expect(found).toMatchObject({ evidence: 'provider', commands: [] });
    expect(asked).toEqual(['device-1 the key']);
  });

  testRows(POLICIES)('fails when the provider denies it (%s)', async (policy) => {
    const verifyHostKey = () => Promise.reject(new ProviderError('conflict', 'another key'));
    const found = await prove({ policy, machine: WITH_HASH, verifyHostKey });
    expect(found).toMatchObject({ ...REJECTED, commands: [] });
  });

  describe('a driver that verifies by commands on the machine', () => {
    /** This vendor leaves a token on the machine and in its API. */
    const byToken: FleetProvider['verifyHostKey'] = async (_machine, _key, { signal }, session) => {
      const command = { argv: ['cat', '/run/vendor/token'] };
      const { exitCode, stdout } = await session.execute(command, { signal });
      if (exitCode !== 0 || stdout !== 'token-1')
        throw new ProviderError('conflict', 'another token');
    };
    const commands = ['cat /run/vendor/token'];

    test('accepts the key', async () => {
      const run = async () => 'token-1';
      const found = await prove({ policy: 'strict', verifyHostKey: byToken, run });
      expect(found).toMatchObject({ evidence: 'provider', commands });
    });

    test('refuses the key', async () => {
      const found = await prove({ verifyHostKey: byToken, run: async () => 'token-2' });
      expect(found).toMatchObject({ ...REJECTED, commands });
    });

    test('sees the exit status of a command', async () => {
      const end = { exitCode: 1, stdout: Buffer.of(), stderr: Buffer.of() };
      const run = () => Promise.reject(new CommandFailed('it ended with status 1', end));
      expect(await prove({ verifyHostKey: byToken, run })).toMatchObject(REJECTED);
    });

    test('reports a broken connection as temporary, not as a verdict', async () => {
      const run = () => Promise.reject(new Unreachable('reset'));
      const found = await prove({ policy: 'insecure', verifyHostKey: byToken, run });
      expect(found).toMatchObject({ error: { code: 'transient' }, commands });
    });

    test('asks for the secret after a driver without means', async () => {
      const verifyHostKey: FleetProvider['verifyHostKey'] = async (...asked) => {
        await asked[3].execute({ argv: ['true'] }, asked[2]);
        throw new ProviderError('not-implemented', 'it tells nothing');
      };
      const found = await prove({ policy: 'strict', machine: WITH_HASH, verifyHostKey });
      expect(found).toMatchObject({ evidence: 'secret', commands: ['true', CAT] });
    });
  });

  testRows(POLICIES)('waits when the provider cannot be asked now (%s)', async (policy) => {
    const failure = new ProviderError('transient', 'no answer');
    const verifyHostKey = () => Promise.reject(failure);
    const found = await prove({ policy, machine: WITH_HASH, verifyHostKey });
    expect(found).toMatchObject({ error: failure, commands: [] });
  });
});

test.each(['', 'It is 10:01:02\n', 'It is 10:01:03\r\n'])(
  'C5: does not take output of a .bashrc as a boot id: %j',
  async (before) => {
    const id = '0d5b3c1e-6a52-4e0b-9d3f-6c1f0f4a7b10';
    const stdout = Buffer.from(`${before}${id}\r\n`);
    const shell = { execute: async () => ({ stdout, stderr: Buffer.of() }) };
    expect(await readBootId(shell, new AbortController().signal)).toBe(id);
  },
);
