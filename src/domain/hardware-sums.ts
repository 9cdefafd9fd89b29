/** Hardware that agents reported for the machines of one provider at one location. */
export interface HardwareSum {
  readonly provider: string;
  readonly location: string;
  readonly nodes: number;
  readonly ramBytes: number;
  readonly threads: number;
}

export interface HardwareSums {
  readonly regions: readonly HardwareSum[];
  /** Machines that are left out: no location, or an empty report. */
  readonly skipped: number;
}

/** A machine with a report; null: the report could not be parsed. */
export interface HardwareFound {
  readonly provider: string;
  readonly location: string | null;
  readonly report: Readonly<Record<string, unknown>> | null;
}

/** Sums machines, installed memory and hardware threads by provider and location. */
export function createHardwareSums() {
  const regions = new Map<string, { -readonly [Key in keyof HardwareSum]: HardwareSum[Key] }>();
  let skipped = 0;
  return {
    add({ provider, location, report }: HardwareFound): void {
      const node = fieldsOf(report?.['report']);
      if (location === null || location === '' || node === null) {
        skipped += 1;
        return;
      }
      const key = JSON.stringify([provider, location]);
      const sum = regions.get(key) ?? { provider, location, nodes: 0, ramBytes: 0, threads: 0 };
      regions.set(key, sum);
      sum.nodes += 1;
      sum.ramBytes += numberOf(node['memory_installed_bytes']);
      const processors = Array.isArray(node['cpu']) ? node['cpu'] : [];
      for (const cpu of processors) sum.threads += numberOf(fieldsOf(cpu)?.['hardware_threads']);
    },
    sums: (): HardwareSums => ({ regions: [...regions.values()], skipped }),
  };
}

/** Manufacturer and product in a report; null: the report names neither. */
export function modelOf(report: HardwareFound['report']): string | null {
  const node = fieldsOf(report?.['report']);
  const parts = [node?.['manufacturer'], node?.['product']].map((part) =>
    typeof part === 'string' ? part.trim() : '',
  );
  return parts.filter((part) => part !== '').join(' ') || null;
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null ? (value as Fields) : null;

/** 64-bit numbers arrive as text. Anything else, or a negative number, counts as 0. */
function numberOf(value: unknown): number {
  const number = Number(value ?? 0);
  return Number.isFinite(number) && number > 0 ? number : 0;
}
