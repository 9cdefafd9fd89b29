import type { ReactNode } from 'react';

export type Fact = readonly [label: string, value: ReactNode];

/** A list of labels and values. Entries without a value are left out. */
export const FactList = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl>
    {facts.filter(isTold).map(([label, value]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

const isTold = ([, value]: Fact): boolean =>
  value !== null && value !== undefined && value !== false && value !== '';
