/** A provider that also adopts existing machines: what it can do with those. */
export interface Adopting<Means> {
  /** Absent: it adopts none. */
  readonly adopted?: Means;
}
/** A machine of such a provider. Created ones have a reservation, adopted ones have none. */
interface PlacedMachine {
  readonly reservationId: string | null;
}

/** Whether the machine existed before us: it is taken in and released unchanged. */
export const isAdopted = (
  { adopted }: Adopting<unknown>,
  machine: PlacedMachine | null | undefined,
): boolean => adopted !== undefined && machine?.reservationId === null;

/** What a provider can do with one of its machines. */
export const capabilitiesFor = <Means extends object>(
  all: Means & Adopting<Means>,
  machine: PlacedMachine | null | undefined,
): Means => (all.adopted && isAdopted(all, machine) ? all.adopted : all);
