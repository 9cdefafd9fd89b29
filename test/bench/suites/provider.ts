import { measureCallsPerMachine } from '../provider/calls-per-machine.ts';
import { measureListing } from '../provider/listing.ts';
import { measureReconcile } from '../provider/reconcile.ts';
import { median, rounded } from '../measure.ts';
import { scaled, textOf, type Report, type Suite, type SuiteOptions } from '../suite.ts';

const LISTED = 10_000;
const RECONCILED = [10_000, 100_000];
const BROUGHT_UP = 20;

export const suite: Suite = {
  summary: 'calls for a machine brought up, a listing of 10 000, decisions for 10 000 and 100 000',
  run: async (options) => {
    const listing = await repeated(options, 'listing', () =>
      measureListing({ devices: scaled(LISTED, options), reservations: scaled(LISTED, options) }),
    );
    const reconcileMs = await reconciles(options);
    const brought = scaled(BROUGHT_UP, options, 2);
    options.progress(`${brought} machines brought up by a daemon`);
    const calls = await measureCallsPerMachine(brought);
    return reportOf({ listing, reconcileMs, calls });
  },
};

interface Figures {
  readonly listing: readonly Awaited<ReturnType<typeof measureListing>>[];
  readonly reconcileMs: Readonly<Record<string, number>>;
  readonly calls: Awaited<ReturnType<typeof measureCallsPerMachine>>;
}

async function repeated<T>(options: SuiteOptions, what: string, run: () => Promise<T>) {
  const results: T[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    const result = await run();
    options.progress(`round ${round}/${options.rounds}: ${what} ${JSON.stringify(result)}`);
    results.push(result);
  }
  return results;
}

async function reconciles(options: SuiteOptions): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  for (const size of RECONCILED) {
    const measure = measureReconcile(scaled(size, options));
    const rounds = await repeated(options, `decisions for ${size}`, async () => measure());
    figures[String(size)] = rounded(median(rounds));
  }
  return figures;
}

function reportOf({ listing, reconcileMs, calls }: Figures): Report {
  const { devices, reservations } = listing[0]!;
  const seconds = rounded(median(listing.map((each) => each.seconds)));
  const peakMb = rounded(median(listing.map((each) => each.peakMb)));
  const [small, large] = Object.values(reconcileMs);
  const json = {
    callsPerMachine: rounded(calls.perMachine),
    calls: calls.byRoute,
    listings: calls.listings,
    list: { devices, reservations, seconds, peakMb },
    reconcileMs,
    ratios: { costPerMachine: rounded(large! / small! / (RECONCILED[1]! / RECONCILED[0]!)) },
  };
  const rows = [
    ['calls for a machine brought up, without listings', String(json.callsPerMachine)],
    [`listing ${devices} devices and ${reservations} reservations`, `${seconds} s, ${peakMb} MB`],
    ...Object.entries(reconcileMs).map(([size, ms]) => [
      `decisions for ${size} machines`,
      `${ms} ms`,
    ]),
    ['cost per machine of the larger to the smaller', String(json.ratios.costPerMachine)],
  ];
  return { json, table: textOf(rows) };
}
