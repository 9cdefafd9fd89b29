import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import type { ConditionStatus } from '../../src/domain/conditions.ts';
import { providerName, slot } from '../../src/domain/ids.ts';
import type { SimWorld } from './world.ts';

/** Mean time between two faults. */
const MEAN_MS = 8_000;
const HANG_SHARE = 0.15;
/** So long that only the chronic machine fails often enough to be retired. */
const RESPITE_MS = 60_000;
/** The chronic machine fails this often; its episodes of recovery end in between. */
const CHRONIC_MS = 26_000;
const DISK_MS = 15_000;
const DISK_LASTS_MS = 90_000;

/**
 * Breaks one machine at a time: mostly its agent dies, sometimes the whole machine hangs. If there
 * is a spare, one machine fails again and again until it is retired. Disks fail, as a checker says.
 */
export function startChaos(
  { hosts, provider, spares }: SimWorld,
  { bmdb }: Pick<Daemon, 'bmdb'>,
  parent: Log,
): { stop(): void } {
  const log = parent.child({ component: 'chaos' });
  const chance = systemRandom.next;
  const timers = new Set<NodeJS.Timeout>();
  const struckAt = new Map<string, number>();
  const slotIdOf = (deviceId: string) => provider.slotOf(deviceId);
  const slotOf = (deviceId: string) => slot(provider.name, slotIdOf(deviceId));
  const fail = (err: unknown) => log.error({ err }, 'a fault could not be made');
  const later = (act: () => Promise<void>, delayMs: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act().catch(fail);
    }, delayMs);
    timers.add(timer);
  };
  const again = (act: () => Promise<void>, meanMs: number) =>
    later(() => act().finally(() => again(act, meanMs)), meanMs * (0.5 + chance()));
  const able = () => hosts.list().filter(({ up, hanging, agents }) => up && !hanging && agents > 0);
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(chance() * items.length)];
  const isRested = (deviceId: string) =>
    performance.now() - (struckAt.get(deviceId) ?? -Infinity) >= RESPITE_MS;

  const chronic = spares > 0 ? pick(able())?.deviceId : undefined;
  const strike = async () => {
    const victim = pick(
      able().filter(({ deviceId }) => deviceId !== chronic && isRested(deviceId)),
    );
    if (!victim) return;
    const { deviceId } = victim;
    struckAt.set(deviceId, performance.now());
    const hangs = chance() < HANG_SHARE;
    if (hangs) await hosts.hang(deviceId, true);
    else await hosts.loseAgent(deviceId);
    log.warn({ slot: slotOf(deviceId) }, hangs ? 'machine hung' : 'agent killed');
  };
  const crash = async () => {
    if (able().every(({ deviceId }) => deviceId !== chronic)) return;
    await hosts.loseAgent(chronic!);
    log.warn({ slot: slotOf(chronic!) }, 'the chronic machine failed again');
  };
  const say = (deviceId: string, status: ConditionStatus, reason: string) =>
    bmdb.conditions.report([
      {
        ...{ provider: providerName(provider.name), slotId: slotIdOf(deviceId), machineId: null },
        ...{ type: 'disk-failing', source: 'smart-checker', status, reason },
        ...{ detail: '', validForMs: null },
      },
    ]);
  const breakDisk = async () => {
    const victim = pick(able().filter(({ deviceId }) => deviceId !== chronic));
    if (!victim) return;
    const { deviceId } = victim;
    await say(deviceId, 'True', 'sda: 12 media errors');
    log.warn({ slot: slotOf(deviceId) }, 'a disk fails');
    later(() => say(deviceId, 'False', 'sda was replaced'), DISK_LASTS_MS);
  };

  again(strike, MEAN_MS);
  later(breakDisk, DISK_MS);
  again(breakDisk, 2 * DISK_LASTS_MS);
  if (chronic !== undefined) {
    const next = () => later(() => crash().finally(next), CHRONIC_MS);
    later(() => crash().finally(next), 0);
  }
  return {
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
