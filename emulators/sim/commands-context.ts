import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { claimedName } from '../../src/commands/bootstrap.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import { explain, FleetError } from '../../src/domain/errors.ts';
import {
  readContexts,
  without,
  writeContexts,
  type Contexts,
} from '../../src/commands/remote/contexts.ts';

/** A day: a longer simulation needs a new login. */
const TOKEN_MS = 86_400_000;
const OWN = 'sim';

export interface SimContext {
  readonly name: string;
  /** Whether commands use it by default; otherwise by `--context`. */
  readonly isCurrent: boolean;
  /** Removes context and token. */
  remove(): Promise<void>;
}

/**
 * Creates a context for a simulated fleet, so that commands in another terminal find it. A person's
 * current context stays current. Null: the file of contexts is unusable, and the log says why.
 */
export async function addSimContext(
  { bmdb, consoleUrl: url }: Pick<Daemon, 'consoleUrl'> & { readonly bmdb: Pick<Bmdb, 'access'> },
  log: Pick<Log, 'warn'>,
): Promise<SimContext | null> {
  const [owner, { pid }] = [claimedName(), process];
  try {
    const before = withoutDead(readContexts());
    const { id, token } = makeToken(systemRandom);
    const name = before.contexts[OWN] === undefined ? OWN : `${OWN}-${pid}`;
    await bmdb.access.tokens.add({
      ...{ id, digest: digestOf(token), name: `sim-${pid}-${id}`, owner },
      ...{ role: 'admin', providers: null, forMs: TOKEN_MS },
    });
    const isCurrent = before.current === null;
    writeContexts({
      current: isCurrent ? name : before.current,
      contexts: { ...before.contexts, [name]: { url, token, simulator: pid } },
    });
    return {
      name,
      isCurrent,
      async remove() {
        const now = readContexts();
        if (now.contexts[name]?.simulator === pid) writeContexts(without(now, name));
        await bmdb.access.tokens.revoke(id, owner);
      },
    };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    log.warn({}, `no context for commands could be made: ${explain(error)}`);
    return null;
  }
}

/** Without the contexts of killed simulators. */
function withoutDead(all: Contexts): Contexts {
  return Object.entries(all.contexts)
    .filter(([, { simulator }]) => simulator !== undefined && !isAlive(simulator))
    .reduce((rest, [name]) => without(rest, name), all);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
