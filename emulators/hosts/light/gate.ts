/** Passes an agent's calls, or delays them as a broken line would. */
export interface Gate {
  /** Shut while at least one reason holds. */
  shut(reason: GateReason, on: boolean): void;
  /** Resolves when it is open. @throws the signal's reason. */
  passed(signal: AbortSignal): Promise<void>;
}
/** The machine hangs, or its network does not reach the agent server. */
export type GateReason = 'hanging' | 'cut';

/** An open gate. */
export function createGate(): Gate {
  const reasons = new Set<GateReason>();
  const waiting = new Set<() => void>();
  return {
    shut(reason, on) {
      if (on) reasons.add(reason);
      else reasons.delete(reason);
      if (reasons.size > 0) return;
      for (const open of waiting) open();
    },
    async passed(signal) {
      signal.throwIfAborted();
      if (reasons.size === 0) return;
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.delete(open);
          signal.removeEventListener('abort', give);
        };
        const open = () => {
          leave();
          resolve();
        };
        const give = () => {
          leave();
          reject(signal.reason as Error);
        };
        waiting.add(open);
        signal.addEventListener('abort', give, { once: true });
      });
    },
  };
}
