import { Link } from '@tanstack/react-router';
import type { Provider } from '../../api/types.ts';
import { FactList } from '../../parts/facts.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Ago, Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { ShareBar, ShareLinks } from '../fleet/headline.tsx';
import { term } from '../machines/search.ts';

/** The summary of a provider, with a link to its page. */
export const ProviderCard = (provider: Provider) => (
  <Panel
    title={
      <Link to="/providers/$provider" params={{ provider: provider.provider }}>
        {provider.provider}
      </Link>
    }
    aside={<Marks {...provider} />}
    className="facts provider"
  >
    <ProviderFacts {...provider} />
  </Panel>
);

/** The problems of the provider, in words. */
export const Marks = ({ driver, isInventory, mayEraseDisks, unlisted, breaker }: Provider) => (
  <span className="marks">
    <span className="chip">{texts.providers.driver(driver)}</span>
    {isInventory && <span className="chip">{texts.providers.inventory}</span>}
    {mayEraseDisks && (
      <span className="chip" data-alarm>
        {texts.providers.erases}
      </span>
    )}
    {unlisted !== null && (
      <span className="chip" data-alarm>
        {texts.providers.unlistedFor} <Since atMs={unlisted.sinceMs} />
      </span>
    )}
    {breaker !== null && breaker.reason !== null && (
      <span className="chip" data-alarm>
        {texts.providers.breakerOpen}
      </span>
    )}
  </span>
);

export function ProviderFacts(provider: Omit<Provider, 'shelf' | 'unsettled'> & Counted) {
  const { labels } = texts.providers;
  return (
    <FactList
      facts={[
        [labels.machines, <Machines key="machines" {...provider} />],
        [labels.limit, limitText(provider.machinesMax)],
        [labels.listing, <Listing key="listing" {...provider} />],
        [labels.breaker, <Breaker key="breaker" {...provider} />],
        [labels.provisions, <Provisioner key="provisioner" {...provider} />],
        [labels.can, provider.can.join(', ') || texts.providers.nothingBut],
        [labels.callsMax, texts.figure(provider.callsMax)],
        [labels.holds, texts.providers.count(provider.holds.length)],
        [labels.shelf, texts.providers.onShelf(provider.shelf)],
        [labels.unsettled, texts.providers.count(provider.unsettled)],
      ]}
    />
  );
}
interface Counted {
  readonly shelf: number;
  readonly unsettled: number;
}

const limitText = (max: number | null): string =>
  max === null ? texts.providers.noLimit : texts.providers.limit(max);

const Machines = ({ provider, headline }: Pick<Provider, 'provider' | 'headline'>) => (
  <>
    <ShareLinks {...headline} within={`${term('provider', provider)} `} />
    <ShareBar {...headline} />
  </>
);

const Listing = ({ listing, unlisted }: Pick<Provider, 'listing' | 'unlisted'>) => (
  <>
    {listing === null ? (
      texts.providers.noListing
    ) : (
      <>
        <Ago atMs={listing.atMs} />, {texts.providers.listing(listing.entries, listing.complete)}
        {listing.unreadable > 0 && (
          <span className="calls">, {texts.providers.unreadable(listing.unreadable)}</span>
        )}
      </>
    )}
    {unlisted !== null && <p className="calls">{unlisted.cause}</p>}
  </>
);

function Breaker({ breaker }: Pick<Provider, 'breaker'>) {
  if (breaker === null) return texts.providers.notJudged;
  const { reason, atMs } = breaker;
  return (
    <>
      {reason === null ? texts.providers.believed : <span className="calls">{reason}</span>}
      <span className="quiet">
        , {texts.providers.judged} <Ago atMs={atMs} />
      </span>
    </>
  );
}

function Provisioner({ provisioner }: Pick<Provider, 'provisioner'>) {
  if (provisioner === null) return <span className="calls">{texts.providers.nobody}</span>;
  if (provisioner.isHere) return texts.providers.thisDaemon;
  return <span className="mono">{texts.providers.session(provisioner.sessionId)}</span>;
}
