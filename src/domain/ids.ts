/** Identifiers with one type for each kind, so that the compiler rejects a mix-up. */
declare const brand: unique symbol;
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/** UUID of a tenancy: one machine record of the BMDB. */
export type MachineId = Brand<string, 'MachineId'>;
/** `<provider>/<slot id>`: the physical machine, which outlives every tenancy. */
export type Slot = Brand<string, 'Slot'>;
/** UUID of a daemon's liveness record. */
export type SessionId = Brand<string, 'SessionId'>;
/** UUID of a creation intent, and the tag that identifies the created device. */
export type Witness = Brand<string, 'Witness'>;
/** A reader's position in the changes of the BMDB; opaque. */
export type Cursor = Brand<string, 'Cursor'>;
/** Configured name of a provider, `^[a-z][a-z0-9-]{0,30}$`. */
export type ProviderName = Brand<string, 'ProviderName'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const isUuid = (text: string): boolean => UUID.test(text);

const SHORT_CHARACTERS = 8;

/** The short name of a slot for people: a UUID is cut to its beginning. Commands and the search take it, too. */
export function shortName(name: string): string {
  const at = name.indexOf('/') + 1;
  return isUuid(name.slice(at)) ? name.slice(0, at + SHORT_CHARACTERS) : name;
}

/**
 * Reads a UUID in any form that libraries write: with or without dashes, in braces, as a URN, in
 * any case. Returns the canonical form; null: the text is no UUID.
 */
export function readUuid(text: string): string | null {
  const lower = text.toLowerCase();
  const bare = /^[0-9a-f]{32}$/.test(lower)
    ? lower.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    : lower.replace(/^\{(.*)\}$/, '$1').replace(/^urn:uuid:/, '');
  return isUuid(bare) ? bare : null;
}

export const machineId = (text: string): MachineId => text as MachineId;
export const sessionId = (text: string): SessionId => text as SessionId;
export const witness = (text: string): Witness => text as Witness;
export const cursor = (text: string): Cursor => text as Cursor;
export const providerName = (text: string): ProviderName => text as ProviderName;

/** The name of a slot: its reservation if it has one, else the device. */
export const slotOf = (
  provider: string,
  names: { reservationId: string | null; id: string | null },
) => slot(provider, names.reservationId ?? names.id ?? '');
export const slot = (provider: string, slotId: string): Slot => `${provider}/${slotId}` as Slot;
export const slotIdOf = (name: Slot): string => name.slice(name.indexOf('/') + 1);
export const providerOf = (name: Slot): ProviderName =>
  name.slice(0, name.indexOf('/')) as ProviderName;
