import { ProviderError } from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';
import type {
  AttemptProgress,
  CallOptions,
  CreateRequest,
  DriverMachine,
  FleetCreateRequest,
  Provider,
} from '../port.ts';
import type { Calls, Running } from './calls.ts';
import { faultOf, nameOfEntry } from './entries.ts';
import type { createFirstBoot } from './first-boot.ts';

/**
 * Asks the driver for one machine; answers with the tags that it was given too.
 * @throws {ProviderError} `invalid`: what is to be used is not free capacity. `permanent` with
 *   `outcome: 'unknown'`: the driver did not heed an announcement. Whatever `onAttempt` rejected
 *   with, as it was: that attempt was not made.
 */
export async function createOne(
  deps: {
    readonly provider: Provider;
    readonly ask: Calls['ask'];
    readonly boot: ReturnType<typeof createFirstBoot>;
  },
  request: FleetCreateRequest,
  running: Running,
): Promise<{ readonly made: DriverMachine; readonly tags: Tags }> {
  const { provider, boot } = deps;
  const { unused, hostname, witness, resumed = false } = request;
  refuseUnusable(unused);
  const announcements = createAnnouncements(request);
  const order: CreateRequest = {
    ...boot.forCreation(unused.plan, witness),
    unused,
    hostname,
    plan: unused.plan,
    resumed,
    onAttempt: announcements.onAttempt,
  };
  const create = async (options: CallOptions) => {
    const made = await provider.createMachine(order, options);
    const unheeded = announcements.unheeded();
    refuseUnlikely(made, unused);
    return { made, unheeded };
  };
  const { made, unheeded } = await deps.ask('Create', running, create).catch((error: unknown) => {
    throw announcements.reasonOf(error);
  });
  refuseUnheeded(made, unheeded);
  return { made, tags: order.tags };
}

function refuseUnusable(unused: ProviderMachine | undefined): void {
  if (unused && unused.availability !== 'KnownUsed' && unused.ownership !== 'foreign') return;
  throw new ProviderError('invalid', 'a creation needs free capacity of this provider');
}

/** Nobody may know of this machine yet, so nobody may take it for made as agreed. */
function refuseUnheeded(made: DriverMachine, fault: ReturnType<Announcements['unheeded']>): void {
  if (fault === null) return;
  const { what, cause } = fault;
  throw new ProviderError(
    'permanent',
    `the driver made machine ${nameOfEntry(made)}, but ${what}`,
    { cause, outcome: 'unknown' },
  );
}

/** There may be a machine, and the driver does not know which. */
function refuseUnlikely(made: DriverMachine, { reservationId }: ProviderMachine): void {
  const fault = faultOf(made) ?? mismatch(made, reservationId);
  if (fault === null) return;
  throw new ProviderError(
    'permanent',
    `the driver answered with machine ${nameOfEntry(made)}: ${fault}`,
    { outcome: 'unknown' },
  );
}

function mismatch(made: DriverMachine, reservationId: string | null): string | null {
  if (made.id === null) return 'it has no id';
  if (made.availability === 'KnownUnused') return 'it is free';
  const isOther = made.reservationId !== null && made.reservationId !== reservationId;
  return reservationId !== null && isOther ? `it is on ${made.reservationId}` : null;
}

/** What a driver says before its requests of one creation, and whether it heeds the answers. */
interface Announcements {
  onAttempt(progress: AttemptProgress): Promise<void>;
  /** How a driver that is done went on without leave; null: it did not. */
  unheeded(): { readonly what: string; readonly cause?: unknown } | null;
  /** What a creation that failed with this is rejected with. */
  reasonOf(error: unknown): unknown;
}

function createAnnouncements({ onAttempt }: Pick<FleetCreateRequest, 'onAttempt'>): Announcements {
  let refused: { readonly cause: unknown } | null = null;
  let open = 0;

  async function announce(progress: AttemptProgress): Promise<void> {
    open += 1;
    try {
      await onAttempt?.(progress);
    } catch (cause) {
      refused = { cause };
      throw cause;
    } finally {
      open -= 1;
    }
  }

  return {
    onAttempt(progress) {
      const announced = announce(progress);
      // A driver that does not wait does not catch either.
      announced.catch(() => undefined);
      return announced;
    },
    unheeded() {
      if (refused) return { what: 'an announcement had failed', cause: refused.cause };
      return open > 0 ? { what: 'did not wait for its announcement' } : null;
    },
    reasonOf(error) {
      if (!refused) return error;
      const { cause } = refused;
      if (stems(error, cause) || facetsOf(error).outcome === 'not-done') return cause;
      return error instanceof ProviderError && error.outcome === 'unknown'
        ? error
        : new ProviderError('permanent', 'the driver went on after an announcement had failed', {
            cause: error,
            outcome: 'unknown',
          });
    },
  };
}

/** Whether it is this, or was caused by it. */
function stems(error: unknown, from: unknown): boolean {
  for (let at = error, depth = 0; depth < 16; depth++) {
    if (at === from) return true;
    if (!(at instanceof Error)) return false;
    at = at.cause;
  }
  return false;
}
