import { ProviderError } from '../../../domain/errors.ts';
import type { System } from './client/system.ts';
import type { BmcEntry } from './entries.ts';

/** What a look at the identity of a system told. */
export type Identity = 'same' | 'unproved';

/**
 * Whether the system is the one that the entry means: blades move, and addresses of BMCs are used again.
 * @returns `unproved`: the entry or the BMC names neither serial number nor UUID.
 * @throws {ProviderError} `conflict`: it is another one.
 */
export function checkIdentity(entry: BmcEntry, system: System): Identity {
  const pairs = [
    ['serial number', entry.serial, told(system.serial, serviceTagOf(system))],
    ['UUID', entry.uuid, told(system.uuid?.toLowerCase() ?? null)],
  ] as const;
  const compared = pairs.filter(([, ours, theirs]) => ours !== null && theirs.length > 0);
  const wrong = compared.find(([, ours, theirs]) => !theirs.includes(ours!));
  if (wrong) {
    const [what] = wrong;
    throw new ProviderError(
      'conflict',
      `${entry.bmc} answers for another machine than ${entry.id}: the ${what} differs from the inventory's`,
    );
  }
  return compared.length > 0 ? 'same' : 'unproved';
}

const told = (...values: readonly (string | null)[]): readonly string[] =>
  values.filter((value) => value !== null);

/** What is printed on a Dell and called its serial number everywhere else. */
const serviceTagOf = ({ manufacturer, sku }: System): string | null =>
  /dell/i.test(manufacturer ?? '') ? sku : null;
