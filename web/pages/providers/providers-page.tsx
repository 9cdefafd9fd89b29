import { useQuery } from '@tanstack/react-query';
import { providers } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Notice } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { Failures } from './failures.tsx';
import { ProviderCard } from './provider-card.tsx';

/** All configured providers: listing, holds and machines; and which kinds of machines fail. */
export function ProvidersPage() {
  const query = useQuery(providers);
  return (
    <>
      <h1>{texts.pages.providers}</h1>
      <Loaded query={query}>
        {(all) => (
          <div className="halves">
            {all.length === 0 && <Notice tone="quiet" title={texts.providers.none} />}
            {all.map((each) => (
              <ProviderCard key={each.provider} {...each} />
            ))}
          </div>
        )}
      </Loaded>
      <Failures />
    </>
  );
}
