import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { DriverKeys } from './driven.ts';
import { DELETED } from '../domain/submission/prospects.ts';

/** The relevant part of the providers' configuration. */
interface Providers {
  readonly providers: Readonly<
    Record<string, ({ readonly driver: string } & DriverKeys) | undefined>
  >;
}

/** What happens to a machine that is given back, in its driver's words. */
export const givingBackOf =
  ({ providers }: Providers) =>
  (provider: string): string => {
    const settings = providers[provider];
    if (!settings) return 'nothing happens until its provider is configured';
    return DRIVERS.get(settings.driver)?.givingBack?.(settings) ?? DELETED;
  };
