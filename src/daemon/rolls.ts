import { carryOnRolls, ROLLS_JOB } from '../actors/rolls.ts';
import { ladderOf } from '../config.ts';
import { RUNG_OF } from '../domain/recovery/ladder.ts';
import { slot } from '../domain/ids.ts';
import type { RollRow, RollScene, RollSlot } from '../domain/rolling.ts';
import type { DaemonParts } from './parts.ts';
import { windowBar } from './planning.ts';

/** Begins to carry on rolling actions; closing the daemon ends it. */
export function startRolls(parts: DaemonParts): void {
  const { clock, log, closer, bmdb, loops, mirror, config } = parts;
  const stopping = new AbortController();
  const { pollInterval: periodMs, scanInterval: idleMs } = config.mirror;
  const rolling = carryOnRolls(
    {
      ...{ bmdb, leases: parts.rollLeases, clock, periodMs, idleMs },
      isWhole: mirror.isWhole,
      scene: sceneOf(parts),
      loop: loops.of('rolls', idleMs, ROLLS_JOB),
      log: log.child({ component: 'rolls' }),
    },
    stopping.signal,
  );
  closer.add('rolls', () => {
    stopping.abort();
    return rolling;
  });
}

const nameOf = ({ provider, slotId }: RollSlot) => slot(provider, slotId);

function sceneOf(parts: DaemonParts) {
  const { config, mirror, board, loss } = parts;
  const barOf = windowBar(parts);
  const factsOf = (at: RollSlot) => mirror.facts().get(nameOf(at));
  return ({ action }: RollRow): Omit<RollScene, 'orders'> => ({
    ...{ facts: factsOf, guard: mirror.guard(), loss, nowMs: mirror.nowMs() },
    isHealthy: (at) => {
      const entry = board.entries.get(nameOf(at));
      return entry?.state === 'Running' && entry.substate === 'healthy';
    },
    windowRefusal: (at) => barOf(at.provider, factsOf(at) ?? {}),
    patienceMs: ({ provider }) => ladderOf(config, provider)[RUNG_OF[action]].patienceMs,
  });
}
