import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import { explain, FleetError } from '../../src/domain/errors.ts';
import {
  readContexts,
  without,
  writeContexts,
  type Contexts,
} from '../../src/commands/remote/contexts.ts';

/** A day: a simulator that goes on for longer wants a new login. */
const TOKEN_MS = 86_400_000;
const OWN = 'sim';

export interface SimContext {
  readonly name: string;
  /** Whether commands use it with no further setting; else by `--context`. */
  readonly isCurrent: boolean;
  /** Takes context and token back. */
  remove(): Promise<void>;
}

export interface SimContextDeps {
  readonly bmdb: Pick<Bmdb, 'access'>;
  readonly url: string;
  /** Whose token it is. */
  readonly owner: string;
  readonly pid: number;
}

/**
 * Makes a context of a simulated fleet, so that commands in another terminal find it. A context of a
 * person that is in use stays in use.
 * @throws {UsageError} the file of contexts cannot be used.
 */
export async function addSimContext(deps: SimContextDeps): Promise<SimContext> {
  const { bmdb, url, owner, pid } = deps;
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
}

/** Without those of simulators that were killed. */
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

/** As {@link addSimContext}; where there can be none, the simulation goes on without. */
export async function trySimContext(
  deps: SimContextDeps,
  warn: (text: string) => void,
): Promise<SimContext | null> {
  try {
    return await addSimContext(deps);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    warn(`no context for commands could be made: ${explain(error)}`);
    return null;
  }
}
