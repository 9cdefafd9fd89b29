import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { slot } from '../../src/domain/ids.ts';
import type { SimWorld } from './world.ts';

/** Mean time between two faults. */
const MEAN_MS = 8_000;
const HANG_SHARE = 0.15;
/** A machine that fails repeatedly needs a person, which this does not show. */
const RESPITE_MS = 60_000;

/** Breaks one machine at a time: mostly its agent dies, sometimes the whole machine hangs. */
export function startChaos({ hosts, provider }: SimWorld, parent: Log): { stop(): void } {
  const log = parent.child({ component: 'chaos' });
  const chance = systemRandom.next;
  let timer: NodeJS.Timeout;
  const struckAt = new Map<string, number>();
  const isRested = (deviceId: string) =>
    performance.now() - (struckAt.get(deviceId) ?? -Infinity) >= RESPITE_MS;
  const strike = async () => {
    const able = hosts
      .list()
      .filter(
        ({ deviceId, up, hanging, agents }) => up && !hanging && agents > 0 && isRested(deviceId),
      );
    const victim = able[Math.floor(chance() * able.length)];
    if (!victim) return;
    const { deviceId } = victim;
    struckAt.set(deviceId, performance.now());
    const hangs = chance() < HANG_SHARE;
    if (hangs) await hosts.hang(deviceId, true);
    else await hosts.loseAgent(deviceId);
    const struck = { slot: slot(provider.name, provider.slotOf(deviceId)) };
    log.warn(struck, hangs ? 'machine hung' : 'agent killed');
  };
  const fail = (err: unknown) => log.error({ err }, 'a fault could not be made');
  const next = () => {
    timer = setTimeout(() => void strike().catch(fail).finally(next), MEAN_MS * (0.5 + chance()));
  };
  next();
  return { stop: () => clearTimeout(timer) };
}
