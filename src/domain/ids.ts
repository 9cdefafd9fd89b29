/** Names of things, each with a type of its own: one cannot be passed where another is meant. */
declare const brand: unique symbol;
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/** UUID of a tenancy: one machine record of the BMDB. */
export type MachineId = Brand<string, 'MachineId'>;
/** `<provider>/<slot id>`: the physical machine, which outlives every tenancy. */
export type Slot = Brand<string, 'Slot'>;
/** UUID of a daemon's liveness record. */
export type SessionId = Brand<string, 'SessionId'>;
/** UUID of a creation intent; also the tag by which the created device is found again. */
export type Witness = Brand<string, 'Witness'>;
/** How far into the changes of the BMDB a reader has come; opaque. */
export type Cursor = Brand<string, 'Cursor'>;
/** Configured name of a provider, `^[a-z][a-z0-9-]{0,30}$`. */
export type ProviderName = Brand<string, 'ProviderName'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const isUuid = (text: string): boolean => UUID.test(text);

/**
 * The UUID that is written in one of the forms that libraries write, Go's among them (with dashes,
 * without, in braces, as a URN; in any case), as we write it; null: it is none.
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

/** A slot is named by its reservation where there is one, else by the device itself. */
export const slotOf = (
  provider: string,
  names: { reservationId: string | null; id: string | null },
) => slot(provider, names.reservationId ?? names.id ?? '');
export const slot = (provider: string, slotId: string): Slot => `${provider}/${slotId}` as Slot;
export const slotIdOf = (name: Slot): string => name.slice(name.indexOf('/') + 1);
export const providerOf = (name: Slot): ProviderName =>
  name.slice(0, name.indexOf('/')) as ProviderName;
