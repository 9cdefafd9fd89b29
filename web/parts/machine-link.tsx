import { Link } from '@tanstack/react-router';
import { shortName } from '../../src/domain/ids.ts';

/** Splits the name of a slot into provider and slot id. */
export function partsOf(slot: string): { readonly provider: string; readonly slot: string } {
  const at = slot.indexOf('/');
  return { provider: slot.slice(0, at), slot: slot.slice(at + 1) };
}

/** A link to a machine by the short name of its slot. */
export const MachineLink = ({ slot }: { readonly slot: string }) => (
  <Link to="/machines/$provider/$slot" params={partsOf(slot)} className="slot" title={slot}>
    {shortName(slot)}
  </Link>
);
