import { Unreachable } from '../../src/domain/errors.ts';

/** What goes wrong with one call: nothing was done, it was done and we do not know, done twice. */
export const EFFECTS = ['fails before', 'fails after', 'runs twice'] as const;
export type Effect = (typeof EFFECTS)[number];

/** Spoils the next call of one operation, once. Others pass. */
export interface Fault {
  arm(operation: string, effect: Effect): void;
  /** Whether the armed fault has struck. */
  readonly struck: boolean;
  /** The object, each call of these methods open to a fault; `inner` wraps what they answer. */
  wrap<Target extends object>(
    target: Target,
    operations: Readonly<Record<string, string>>,
    inner?: Readonly<Record<string, (answer: never) => unknown>>,
  ): Target;
}

type Method = (...args: unknown[]) => unknown;

export function createFault(): Fault {
  let armed: { operation: string; effect: Effect } | null = null;
  let struck = false;

  const call = async (operation: string, act: () => unknown): Promise<unknown> => {
    if (armed?.operation !== operation) return await act();
    const { effect } = armed;
    armed = null;
    struck = true;
    if (effect !== 'fails before') await act();
    if (effect === 'runs twice') return await act();
    throw new Unreachable(`${operation}: scripted fault (${effect})`);
  };

  return {
    arm(operation, effect) {
      armed = { operation, effect };
      struck = false;
    },
    get struck() {
      return struck;
    },
    wrap: (target, operations, inner = {}) =>
      new Proxy(target, {
        get(from, name) {
          const value: unknown = Reflect.get(from, name);
          const operation = operations[String(name)];
          const wrapInner = inner[String(name)] ?? ((answer: unknown) => answer);
          if (typeof value !== 'function' || (!operation && !(String(name) in inner))) return value;
          const method = value as Method;
          if (!operation) return (...args: unknown[]) => wrapInner(method(...args) as never);
          return async (...args: unknown[]) =>
            wrapInner((await call(operation, () => method(...args))) as never);
        },
      }),
  };
}
