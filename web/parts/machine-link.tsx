import { Link } from '@tanstack/react-router';
import { isUuid } from '../../src/domain/ids.ts';

/** Splits the name of a slot into provider and slot id. */
export function partsOf(slot: string): { readonly provider: string; readonly slot: string } {
  const at = slot.indexOf('/');
  return { provider: slot.slice(0, at), slot: slot.slice(at + 1) };
}

const SHORT_CHARACTERS = 8;

/** The short name of a slot: a UUID is cut to its beginning. The command line and the search take it, too. */
export function shortName(name: string): string {
  const { provider, slot } = partsOf(name);
  return isUuid(slot) ? `${provider}/${slot.slice(0, SHORT_CHARACTERS)}` : name;
}

/** A link to a machine by the short name of its slot. */
export const MachineLink = ({ slot }: { readonly slot: string }) => (
  <Link to="/machines/$provider/$slot" params={partsOf(slot)} className="slot" title={slot}>
    {shortName(slot)}
  </Link>
);
