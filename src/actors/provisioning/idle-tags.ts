import pLimit from 'p-limit';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import { explain } from '../../domain/errors.ts';
import type { ProviderName, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import {
  idleBehaviourOf,
  taggedBehaviour,
  type IdleBehaviour,
} from '../../domain/provisioning/idle-behaviour.ts';
import { IDLE_TAG } from '../../domain/provisioning/provider-tags.ts';
import { createPenalties } from '../../domain/provisioning/penalties.ts';
import type { HoldKeeper } from '../providers/holds.ts';

export interface IdleTagsDeps {
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly holds: Pick<HoldKeeper, 'guard'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

const AT_ONCE = 5;
/** Tags written in one round; the rest waits for the next one. */
const ROUND_MAX = 50;
/** After a tag was written, listings may show the old one for so long. */
const REST_MS = 10 * 60_000;
const WAITING_MAX = 200_000;
const LIMIT_MS = 60_000;

/**
 * Keeps a copy of what operators want of each machine in a tag of its device, for whoever adopts the
 * device one day without our database. Best effort: what fails is tried again later.
 * @returns one round over the machines of a provider.
 */
export function createIdleTags(deps: IdleTagsDeps) {
  const waiting = createPenalties<Slot>(WAITING_MAX);

  const write = async (provider: FleetProvider, stale: Stale, signal: AbortSignal) => {
    const { slot, id, behaviour } = stale;
    const nowMs = deps.clock.monotonic();
    waiting.add(slot, nowMs + REST_MS, nowMs);
    try {
      const call = { signal, timeoutMs: LIMIT_MS };
      await deps.holds.guard(provider.name, 'setTags', () =>
        provider.setTags(id, { [IDLE_TAG]: behaviour }, call),
      );
      deps.log.info({ slot, device: id, behaviour }, 'idle behaviour tagged');
    } catch (error) {
      if (signal.aborted) throw error;
      const fields = { slot, device: id, behaviour, cause: explain(error) };
      deps.log.warn(fields, 'the idle behaviour could not be tagged; it is tried again');
    }
  };

  return async (provider: FleetProvider, signal: AbortSignal): Promise<void> => {
    if (!provider.capabilities.tags) return;
    const nowMs = deps.clock.monotonic();
    const due = staleOf(deps.facts(), provider.name, deps.nowMs())
      .filter(({ slot }) => !waiting.penalised(slot, nowMs))
      .slice(0, ROUND_MAX);
    const limit = pLimit(AT_ONCE);
    await Promise.all(due.map((each) => limit(() => write(provider, each, signal))));
  };
}

interface Stale {
  readonly slot: Slot;
  readonly id: string;
  readonly behaviour: IdleBehaviour;
}

/** Devices of our machines whose tag says something else than the holds on their slots. */
function staleOf(facts: ReadonlyMap<Slot, SlotFacts>, name: ProviderName, nowMs: number): Stale[] {
  const found: Stale[] = [];
  for (const { slot, row, listed, holds } of facts.values()) {
    if (row?.provided?.provider !== name || row.deprovision !== null) continue;
    const { providerId: id } = row.provided;
    if (listed?.id !== id || listed.ownership !== 'ours') continue;
    const active = holds.filter(({ untilMs }) => untilMs === null || untilMs > nowMs);
    const behaviour = idleBehaviourOf(active.map(({ kind }) => kind));
    if (behaviour !== taggedBehaviour(listed.tags)) found.push({ slot, id, behaviour });
  }
  return found;
}
