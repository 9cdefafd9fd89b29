import { isObservable, type Observable } from 'rxjs';

/** One call of a port: its dotted path, such as `bmdb.session.claim`, and its arguments. */
export interface PortCall {
  readonly path: string;
  readonly args: readonly unknown[];
  /** Signal of the called session or work. It aborts when that session or work ends. */
  readonly signal?: AbortSignal;
}

export interface Interceptor {
  /**
   * Wraps each asynchronous call: decides whether `run` is called, and what the caller receives.
   */
  around(call: PortCall, run: () => Promise<unknown>): Promise<unknown>;
  /** Wraps each stream of the port. */
  stream?<T>(path: string, stream$: Observable<T>): Observable<T>;
}

/** Methods that return at once. They are passed through unchanged. */
const SYNCHRONOUS = new Set(['remainingMs', 'capacityGroup', 'hostnameFor']);
/** Name that a method's result has in the paths of the result's own methods. */
const RESULTS: Readonly<Record<string, string>> = {
  openSession: 'session',
  claim: 'work',
  lease: 'lease',
  connect: 'ssh',
};

/** Returns the same port with every call and stream passing through the interceptor. */
export function interceptPort<Port extends object>(
  port: Port,
  name: string,
  interceptor: Interceptor,
): Port {
  const intercepted = {};
  for (const key of Object.keys(port) as (keyof Port & string)[]) {
    const path = `${name}.${key}`;
    const wrap = (value: unknown): unknown => {
      if (isObservable(value)) return interceptor.stream?.(path, value) ?? value;
      if (typeof value === 'function') {
        return interceptMethod(value as PortMethod, { port, path, key }, interceptor);
      }
      return hasMethods(value) ? interceptPort(value, path, interceptor) : value;
    };
    let last: { readonly value: unknown; readonly wrapped: unknown } | undefined;
    const get = () => {
      const value: unknown = port[key];
      if (!last || last.value !== value) last = { value, wrapped: wrap(value) };
      return last.wrapped;
    };
    Object.defineProperty(intercepted, key, { enumerable: true, configurable: true, get });
  }
  return intercepted as Port;
}

/** Combines interceptors into one. The first interceptor is nearest to the port. */
export const inTurn = (...stages: readonly Interceptor[]): Interceptor => ({
  around: (call, run) => stages.reduce((inner, stage) => () => stage.around(call, inner), run)(),
  stream: (path, stream$) =>
    stages.reduce((inner$, stage) => stage.stream?.(path, inner$) ?? inner$, stream$),
});

function interceptMethod(
  method: PortMethod,
  { port, path, key }: { port: object; path: string; key: string },
  interceptor: Interceptor,
): PortMethod {
  if (SYNCHRONOUS.has(key) || path.endsWith('ssh.close')) return method.bind(port);
  return (...args) => {
    const [root] = path.split('.');
    const run = async () => {
      const result: unknown = await method.apply(port, args);
      const name = RESULTS[key];
      return name && hasMethods(result)
        ? interceptPort(result, `${root}.${name}`, interceptor)
        : result;
    };
    const signal = 'signal' in port && port.signal instanceof AbortSignal ? port.signal : undefined;
    return interceptor.around({ path, args, ...(signal && { signal }) }, run);
  };
}

type PortMethod = (...args: unknown[]) => unknown;

const hasMethods = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  Object.values(value).some((each) => typeof each === 'function' || isObservable(each));
