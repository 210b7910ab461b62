! SPDX-License-Identifier: BSD-3-Clause
! Fortran's own input and output: text, sequential records and streams; an element, a row or everything by a statement.
module fileio_records
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: by_element = 0, by_row = 1
  integer(c_int), parameter :: text = 0, records = 1

contains

  ! The file behind a path that ends with a zero; `unit` is open where the result is 0.
  function opened(path, form, unit) result(status)
    character(kind=c_char), intent(in) :: path(*)
    integer(c_int), intent(in) :: form
    integer, intent(out) :: unit
    integer :: status, length
    character(len=64) :: name

    name = ' '
    length = 0
    do while (path(length + 1) /= c_null_char .and. length < len(name))
      length = length + 1
      name(length:length) = path(length)
    end do
    if (form == text) then
      open (newunit=unit, file=trim(name), status='old', action='readwrite', form='formatted', iostat=status)
    else if (form == records) then
      open (newunit=unit, file=trim(name), status='old', action='readwrite', form='unformatted', iostat=status)
    else
      open (newunit=unit, file=trim(name), status='old', action='readwrite', form='unformatted', access='stream', &
            iostat=status)
    end if
  end function opened

  ! 17 digits give the same double back; lines of a row.
  function lines(row) result(format)
    integer(c_int64_t), intent(in) :: row
    character(len=40) :: format

    write (format, '("(", i0, "es25.16e3)")') row
  end function lines

  function fortran_write(path, form, by, row, count, values) result(status) bind(c, name='nodewise_fortran_write')
    character(kind=c_char), intent(in) :: path(*)
    integer(c_int), value :: form, by
    integer(c_int64_t), value :: row, count
    real(c_double), intent(in) :: values(count)
    integer(c_int) :: status
    integer :: unit, state
    integer(c_int64_t) :: first, last, step
    character(len=40) :: line

    state = opened(path, form, unit)
    step = count
    if (by == by_row) step = row
    if (by == by_element) step = 1
    line = lines(row)
    if (by == by_element) line = '(es25.16e3)'
    first = 1
    do while (state == 0 .and. first <= count)
      last = min(first + step - 1, count)
      if (form == text) then
        if (by == by_element) then
          write (unit, '(es25.16e3)', iostat=state) values(first)
        else
          write (unit, line, iostat=state) values(first:last)
        end if
      else if (by == by_element) then
        write (unit, iostat=state) values(first)
      else
        write (unit, iostat=state) values(first:last)
      end if
      first = last + 1
    end do
    if (state == 0) close (unit, iostat=state)
    status = int(state, c_int)
  end function fortran_write

  function fortran_read(path, form, by, row, count, values) result(status) bind(c, name='nodewise_fortran_read')
    character(kind=c_char), intent(in) :: path(*)
    integer(c_int), value :: form, by
    integer(c_int64_t), value :: row, count
    real(c_double), intent(out) :: values(count)
    integer(c_int) :: status
    integer :: unit, state
    integer(c_int64_t) :: first, last, step
    character(len=40) :: line

    state = opened(path, form, unit)
    step = count
    if (by == by_row) step = row
    if (by == by_element) step = 1
    line = lines(row)
    first = 1
    do while (state == 0 .and. first <= count)
      last = min(first + step - 1, count)
      if (form == text) then
        if (by == by_element) then
          read (unit, '(es25.16e3)', iostat=state) values(first)
        else
          read (unit, line, iostat=state) values(first:last)
        end if
      else if (by == by_element) then
        read (unit, iostat=state) values(first)
      else
        read (unit, iostat=state) values(first:last)
      end if
      first = last + 1
    end do
    if (state == 0) close (unit, iostat=state)
    status = int(state, c_int)
  end function fortran_read

end module fileio_records
