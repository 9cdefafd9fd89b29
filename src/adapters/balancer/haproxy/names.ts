import { RemoteFailure } from '../../../domain/errors.ts';
import { canonicalAddress } from '../../../domain/balancing/addresses.ts';
import {
  CHECK_PATH,
  type HealthCheck,
  type PoolRef,
  type Spec,
} from '../../../domain/balancing/objects.ts';

/**
 * What may stand in a line of a configuration or of a socket. HAProxy takes blanks, quotes, `#`, `;`
 * and line ends for more than text, and silently takes a server whose address is no address; so
 * everything that is written passes here first.
 */
const NAME = /^[A-Za-z0-9_.:-]{1,200}$/;
const PORT_MAX = 65_535;
export const isPort = (number: number): boolean =>
  Number.isInteger(number) && number >= 1 && number <= PORT_MAX;

export const isName = (text: string): boolean => NAME.test(text);

/** @throws {RemoteFailure} it cannot be a name. */
export function nameOf(text: string): string {
  if (isName(text)) return text;
  const allowed = 'letters, digits, -, _, . and :, at most 200';
  throw new RemoteFailure(`HAProxy has no name ${JSON.stringify(text)}: only ${allowed}`);
}

/** @throws {RemoteFailure} it is no address, or no port. */
export function endOf(address: string, number: number): string {
  const canonical = canonicalAddress(address);
  if (canonical === null || !isPort(number)) {
    throw new RemoteFailure(`HAProxy cannot be given the end ${JSON.stringify(address)} ${number}`);
  }
  return canonical.includes(':') ? `[${canonical}]:${number}` : `${canonical}:${number}`;
}

/** @throws {RemoteFailure} it is no path. */
export function pathOf(text: string): string {
  if (CHECK_PATH.test(text)) return text;
  throw new RemoteFailure(`HAProxy cannot be told to ask for the path ${JSON.stringify(text)}`);
}

/** @throws {RemoteFailure} something of it cannot be written down. */
export function requireSpec(spec: Spec): void {
  nameOf(spec.name);
  if ('address' in spec) endOf(spec.address, spec.number);
  if (spec.kind === 'backend') requireCheck(spec.check);
}

/** @throws {RemoteFailure} something of it cannot be written down. */
export function requireOwner({ uid, suffix }: PoolRef): void {
  nameOf(uid);
  nameOf(suffix);
}

const requireCheck = (check: HealthCheck): void => {
  if (check.by === 'http') pathOf(check.path);
};
