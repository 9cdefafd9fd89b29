import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Slot } from '../../src/domain/ids.ts';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import {
  becomesTrue,
  healthy,
  withFleet,
  type FleetOptions,
  type SimulatedFleet,
} from './simulated-fleet.ts';

/** A simulated fleet that is up, and the commands that an operator has for it. */
export interface CommandedFleet extends SimulatedFleet {
  /** Configuration for commands; the password of the database is none of it. */
  readonly file: string;
  /** What `file` refers to. */
  readonly env: NodeJS.ProcessEnv;
  /** What makes a command find the console, as Ann, who is admin. */
  readonly consoleEnv: NodeJS.ProcessEnv;
  /** Slots, in their order. */
  slots(): readonly Slot[];
}

const TOKEN = 'SHEPHERD_TEST_TOKEN';

/** Brings up so many machines, and calls `use` when all run and the guard would let them recover. */
export const withCommandedFleet = (
  machines: number,
  use: (fleet: CommandedFleet) => Promise<void>,
  hardware: Pick<FleetOptions, 'diskBytes'> = {},
): Promise<void> =>
  withFleet({ machines, embedded: true, ...hardware }, async (fleet) => {
    const dir = mkdtempSync(join(tmpdir(), 'shepherd-commands-'));
    const file = join(dir, 'shepherd.yaml');
    const token = fleet.world.emulator.tokens.project;
    process.env[TOKEN] = token;
    try {
      writeFileSync(file, JSON.stringify(configFor(fleet, dir)));
      const ann = await tokenOfAnn(fleet);
      await becomesTrue(() => healthy(fleet.daemon) === machines, 'all machines run');
      await becomesTrue(() => fleet.daemon.guard().state === 'watching', 'the grace is over');
      await use({
        ...fleet,
        file,
        env: { [TOKEN]: token },
        consoleEnv: { SHEPHERD_URL: fleet.daemon.consoleUrl, SHEPHERD_TOKEN: ann },
        slots: () => [...fleet.daemon.board.entries.keys()].toSorted(),
      });
    } finally {
      delete process.env[TOKEN];
      rmSync(dir, { recursive: true, force: true });
    }
  });

async function tokenOfAnn({ daemon }: SimulatedFleet): Promise<string> {
  const { id, token } = makeToken(systemRandom);
  await daemon.bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role: 'admin' },
    ...{ providers: null, forMs: 3_600_000 },
  });
  return token;
}

/** As the daemon's, as far as commands look at it. */
const configFor = ({ world }: SimulatedFleet, dir: string) => ({
  database: { embedded: { dataDir: join(world.dir, 'postgres') } },
  providers: {
    equinix: {
      driver: 'equinix',
      baseUrl: world.emulator.url,
      token: `\${${TOKEN}}`,
      username: 'simulation',
      projectId: world.emulator.projectId,
      devicePrefix: 'shepherd-sim-',
      sshKeyLabel: 'shepherd-sim',
      instanceSetId: 'simul-fleet-000000000000001',
    },
  },
  agent: { heartbeatPeriod: '1s', heartbeatDeadline: '5s', firstHeartbeatDeadline: '20s' },
  ssh: { keyPath: join(dir, 'ssh-key') },
  agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
});
