import type { SimulatedHosts } from '../hosts/options.ts';

export interface ChaosOptions {
  readonly hosts: SimulatedHosts;
  /** Uniform in [0, 1). */
  readonly chance: () => number;
  /** Mean distance of two faults. */
  readonly meanMs: number;
  readonly onFault: (fault: { kind: 'agent killed' | 'machine hung'; deviceId: string }) => void;
  readonly onError: (error: unknown) => void;
}

const HANG_SHARE = 0.15;
/** A machine that is struck again and again is one that a human must look at: not shown here. */
const RESPITE_MS = 60_000;

/** Breaks one machine at a time, now and then: mostly its agent dies, sometimes all of it hangs. */
export function startChaos(options: ChaosOptions): { stop(): void } {
  const { hosts, chance, meanMs, onFault, onError } = options;
  let timer: NodeJS.Timeout;
  const struckAt = new Map<string, number>();
  const isRested = (deviceId: string) =>
    performance.now() - (struckAt.get(deviceId) ?? -Infinity) >= RESPITE_MS;
  const strike = async () => {
    const able = hosts
      .list()
      .filter((host) => host.up && !host.hanging && host.agents > 0)
      .filter((host) => isRested(host.deviceId));
    const victim = able[Math.floor(chance() * able.length)];
    if (!victim) return;
    const { deviceId } = victim;
    struckAt.set(deviceId, performance.now());
    if (chance() < HANG_SHARE) {
      await hosts.hang(deviceId, true);
      onFault({ kind: 'machine hung', deviceId });
    } else {
      await hosts.loseAgent(deviceId);
      onFault({ kind: 'agent killed', deviceId });
    }
  };
  const next = () => {
    timer = setTimeout(() => void strike().catch(onError).finally(next), meanMs * (0.5 + chance()));
  };
  next();
  return { stop: () => clearTimeout(timer) };
}
