import type {
  CallOptions,
  CreateRequest,
  DriverMachine,
  Provider,
} from '../adapters/provider/port.ts';
import { facetsOf } from '../domain/provisioning/provider-holds.ts';
import { WITNESS_TAG } from '../domain/provisioning/provider-tags.ts';

/**
 * How a creation ended. `refused`: the driver says that nothing was made. `unknown`: something may
 * exist.
 */
export type CreationState = 'under-way' | 'made' | 'refused' | 'unknown';

/** One call of the driver's `createMachine`. */
export interface CreationEntry {
  readonly witness: string;
  readonly slotId: string | null;
  readonly state: CreationState;
  /** The driver's records when it answered; empty after a failure. */
  readonly claims: readonly string[];
  /** The id in the driver's answer, even if the rest is unusable. */
  readonly id: string | null;
  /** Resolves when the call has ended. */
  readonly ended: Promise<void>;
}

/** Names under which a driver may know the machine or its slot. */
export const namesOf = ({
  witness,
  slotId,
  id,
}: Pick<CreationEntry, 'witness' | 'slotId' | 'id'>) =>
  [witness, slotId, id].filter((name) => name !== null);

type LedgerEntry = { -readonly [Key in keyof CreationEntry]: CreationEntry[Key] };

/** @param claims returns the driver's current records about these names. */
export function createLedger(
  claims: (names: readonly string[], signal: AbortSignal) => Promise<readonly string[]>,
) {
  const creations: LedgerEntry[] = [];

  async function create(provider: Provider, request: CreateRequest, options: CallOptions) {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const slotId = request.unused?.reservationId ?? request.unused?.id ?? null;
    const witness = request.tags[WITNESS_TAG] ?? 'none';
    const entry: LedgerEntry = {
      ...{ witness, slotId, state: 'under-way', claims: [], id: null, ended },
    };
    creations.push(entry);
    const announced = announcing(request);
    try {
      const made = await provider.createMachine(announced.request, options);
      entry.id = idOf(made);
      entry.state = 'made';
      entry.claims = await claims(namesOf(entry), options.signal).catch(() => []);
      return made;
    } catch (error) {
      entry.state = announced.isDone(error, options.signal) ? 'unknown' : 'refused';
      throw error;
    } finally {
      resolve();
    }
  }

  return {
    creations,
    /** Wraps the driver and records its creations. */
    watch(provider: Provider): Provider {
      const createMachine: Provider['createMachine'] = (request, options) =>
        create(provider, request, options);
      return replacing(provider, { createMachine });
    },
  };
}
/** Records every creation requested from a driver. */
export type Ledger = ReturnType<typeof createLedger>;

/** Counts requests that were allowed to leave. */
function announcing(request: CreateRequest) {
  let allowed = 0;
  let barred = 0;
  const onAttempt: CreateRequest['onAttempt'] = async (progress) => {
    try {
      await request.onAttempt(progress);
    } catch (error) {
      barred += 1;
      throw error;
    }
    allowed += 1;
  };
  /** Whether a failed creation may have made something. */
  const isDone = (error: unknown, { aborted }: AbortSignal): boolean => {
    if (allowed === 0 && barred > 0) return false;
    // Aborted after a request was allowed to leave: the outcome is unknown, whatever the driver
    // says.
    return (aborted && allowed > 0) || facetsOf(error).outcome === 'unknown';
  };
  return { request: { ...request, onAttempt }, isDone };
}

/** The answer of a driver under test may be anything. */
function idOf(made: DriverMachine | null | undefined): string | null {
  const id: unknown = made?.id;
  return typeof id === 'string' && id !== '' ? id : null;
}

/** The provider with some methods replaced; its own methods keep their `this`. */
export function replacing(provider: Provider, methods: Partial<Provider>): Provider {
  // The target is empty, because a proxy of a frozen target must show its values.
  return new Proxy({} as Provider, {
    get(_, key) {
      if (Object.hasOwn(methods, key)) return Reflect.get(methods, key) as unknown;
      const value: unknown = Reflect.get(provider, key);
      return typeof value === 'function' ? (value.bind(provider) as unknown) : value;
    },
  });
}
