import { createHash } from 'node:crypto';
import { pageHeaders } from '../../formats/html.js';

/**
 * The script of every page, without which all works as well: a form is submitted once and not left by mistake, one box chooses
 * all rows, and times are shown in the zone of the reader.
 */
export const PAGE_SCRIPT = `addEventListener('submit',e=>{const b=e.submitter;if(e.target.method==='post')setTimeout(()=>{if(b)b.disabled=true})});
addEventListener('pageshow',()=>document.querySelectorAll('button:disabled').forEach(b=>{b.disabled=false}));
const f=document.querySelector('form.edit');let d=document.querySelector('form.edit [role=alert]')!==null;if(f){f.addEventListener('input',()=>{d=true});f.addEventListener('submit',()=>{d=false});addEventListener('beforeunload',e=>{if(d)e.preventDefault()})}
const all=document.querySelector('#all');if(all){all.hidden=false;const n=document.querySelector('#chosen');addEventListener('change',e=>{if(e.target===all)document.querySelectorAll('[name=_id]').forEach(c=>{c.checked=all.checked});n.textContent=document.querySelectorAll('[name=_id]:checked').length+' chosen'})}
for(const t of document.querySelectorAll('time')){const x=new Date(t.dateTime);if(t.dateTime.length>10&&!isNaN(x))t.textContent=x.toLocaleString(undefined,{dateStyle:'medium',timeStyle:'short'})}`;

/** The source expression of the script, for the policy of pages. */
const PAGE_SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(PAGE_SCRIPT).digest('base64')}'`;

/** The fields of a page with this script. */
export const pageFields = (): string[] => pageHeaders({ script: PAGE_SCRIPT_SOURCE });
