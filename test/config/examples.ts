import { join } from 'node:path';
import type { ConfigInput } from '../../src/config.ts';
import { UsageError } from '../../src/domain/errors.ts';

export const TOKEN = 'canary-token-value';
export const env = { API_TOKEN: TOKEN, PGPASSWORD: 'p@ss/word' };

/** The minimum of a configuration. */
export const minimal = () =>
  ({
    database: { embedded: { dataDir: 'data' } },
    providers: {
      equinix: {
        driver: 'equinix',
        token: '${API_TOKEN}',
        username: 'robot',
        projectId: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
        instanceSetId: 'zzzzz-zzzzz-zzzzzzzzzzzzzzz',
        devicePrefix: 'shepherd-test-',
        sshKeyLabel: 'shepherd-test',
      },
    },
    agent: { executablePath: 'agent.mjs', endpoint: '192.0.2.1:8080' },
    ssh: { keyPath: 'ssh.key' },
    agentServer: { devCertificates: { dir: 'certificates' } },
  }) satisfies ConfigInput;

/** All but the database, in a test's directory; the token is the environment's `METAL_TOKEN`. */
export const metalIn = (dir: string) =>
  ({
    providers: {
      metal: {
        ...minimal().providers.equinix,
        token: '${METAL_TOKEN}',
        instanceSetId: 'tests-shell-000000000000001',
        devicePrefix: 'shepherd-db-',
      },
    },
    ssh: { keyPath: join(dir, 'ssh-key') },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
    console: { listen: '127.0.0.1:0' },
  }) satisfies Partial<ConfigInput>;

/** `minimal` with one value replaced or added, by dotted path; `undefined` removes it. */
export function withValue(path: string, value: unknown, input: unknown = minimal()): unknown {
  const keys = path.split('.');
  let at = input as Record<string, unknown>;
  for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Record<string, unknown>;
  const last = keys.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return input;
}

/** A provider with a static list of machines. */
export const rack = {
  driver: 'static',
  instanceSetId: 'aaaaa-bbbbb-ccccccccccccccc',
  inventory: 'file:machines.json',
};

/** The output that the program would print. */
export function complaint(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}
