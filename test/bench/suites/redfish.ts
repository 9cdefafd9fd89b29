import { measureRack } from '../redfish/rack.ts';
import { scaled, type Suite } from '../suite.ts';

const BMCS = 2_000;
/** The usual one. */
const PERIOD_S = 300;

export const suite: Suite = {
  summary: 'a rack of 2 000 BMCs, one in twenty dead and one slow: listings, and a round of looks',
  async run(options) {
    const { listMs, ...rest } = await measureRack(
      scaled(BMCS, options, 20),
      1_000 * scaled(PERIOD_S, options, 60),
    );
    const figures = { ...rest, listMsMost: Math.max(...listMs), listings: listMs.length };
    options.progress(`round 1/1: listing ${figures.listMsMost.toFixed(0)} ms at most`);
    return {
      json: figures,
      table: Object.entries(figures)
        .map(([name, value]) => `${name.padEnd(14)} ${value.toFixed(1).padStart(10)}`)
        .join('\n'),
    };
  },
};
