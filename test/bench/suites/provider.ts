import { measureCallsPerMachine } from '../provider/calls-per-machine.ts';
import { measureListing } from '../provider/listing.ts';
import { measureReconcile } from '../provider/reconcile.ts';
import { inRounds, roundedOf, scaled, type Suite } from '../suite.ts';

const LISTED = 10_000;
const RECONCILED = [10_000, 100_000] as const;
const BROUGHT_UP = 20;

export const suite: Suite = {
  summary: 'calls for a machine brought up, a listing of 10 000, decisions for 10 000 and 100 000',
  async run(options) {
    const listed = scaled(LISTED, options);
    const list = await inRounds(options, () =>
      measureListing({ devices: listed, reservations: listed }),
    );
    const [few, many] = RECONCILED.map((size) => measureReconcile(scaled(size, options)));
    const { reconcileMs, ratios } = await inRounds(options, () => {
      const [fewMs, manyMs] = [few!(), many!()];
      const costPerMachine = manyMs / fewMs / (RECONCILED[1] / RECONCILED[0]);
      return { reconcileMs: { 10000: fewMs, 100000: manyMs }, ratios: { costPerMachine } };
    });
    const brought = scaled(BROUGHT_UP, options, 2);
    options.progress(`${brought} machines brought up by a daemon`);
    const { perMachine, byRoute: calls, listings } = await measureCallsPerMachine(brought);
    return {
      ...roundedOf({ callsPerMachine: perMachine }),
      calls,
      listings,
      list,
      reconcileMs,
      ratios,
    };
  },
};
