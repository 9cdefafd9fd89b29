import { Link } from '@tanstack/react-router';

/** A slot in its two parts, as addresses have them. */
export function partsOf(slot: string): { readonly provider: string; readonly slot: string } {
  const at = slot.indexOf('/');
  return { provider: slot.slice(0, at), slot: slot.slice(at + 1) };
}

/** The slot of a machine; leads to it. */
export const MachineLink = ({ slot }: { readonly slot: string }) => (
  <Link to="/machines/$provider/$slot" params={partsOf(slot)} className="slot">
    {slot}
  </Link>
);
