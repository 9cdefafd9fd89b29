import { useId, type ReactNode } from 'react';

export interface PanelProps {
  readonly title: ReactNode;
  /** Beside the title, at the right. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}

/** A part of a page, with its heading. */
export function Panel({ title, aside, children, className }: PanelProps) {
  const id = useId();
  return (
    <section className={`panel ${className ?? ''}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export interface NoticeProps {
  readonly tone: 'warn' | 'bad' | 'quiet';
  readonly title?: ReactNode;
  readonly children?: ReactNode;
}

/** A notice to the reader. */
export const Notice = ({ tone, title, children }: NoticeProps) => (
  <div className="notice" data-tone={tone}>
    {title !== undefined && <strong>{title}</strong>}
    {children}
  </div>
);
