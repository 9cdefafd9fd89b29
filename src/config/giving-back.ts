import { DRIVERS } from '../adapters/provider/drivers.ts';
import { DELETED } from '../domain/filing/prospects.ts';

/** What the configuration says of providers, as far as it matters here. */
interface Providers {
  readonly providers: Readonly<Record<string, { readonly driver: string } | undefined>>;
}

/** What becomes of a machine that is given back, in the words of its provider's driver. */
export const givingBackOf =
  ({ providers }: Providers) =>
  (provider: string): string => {
    const settings = providers[provider];
    if (!settings) return 'it waits until its provider is configured';
    return DRIVERS.get(settings.driver)?.givingBack ?? DELETED;
  };
