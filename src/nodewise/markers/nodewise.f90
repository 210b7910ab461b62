! SPDX-License-Identifier: BSD-3-Clause
!
! What a program may say of itself to nodewise: seconds in regions, work done, whether the result is right.
!
!     use nodewise                             ! compile nodewise.f90 with the program: $(nodewise --include-dir)/nodewise.f90
!
!     call nodewise_start("solve")
!     ...
!     call nodewise_stop("solve")
!     call nodewise_count("items", real(cells, real64))
!     call nodewise_verified(error < 1e-9)
!     call nodewise_report("solve")            ! one line; "solve" is what is compared
!
! Fortran 2008. Regions are entered by one thread, outside of parallel regions. One region may lie inside another.
module nodewise
    use, intrinsic :: iso_fortran_env, only: int64, real64, output_unit
    implicit none
    private
    public :: nodewise_start, nodewise_stop, nodewise_count, nodewise_verified, nodewise_report

    ! More names than these, and what is longer, are left out.
    integer, parameter :: most_names = 64, longest_name = 63
    integer :: names = 0
    logical :: checked = .false., wrong = .false.
    character(len=longest_name) :: known(most_names) = ""
    logical :: is_region(most_names) = .false.
    integer(int64) :: began(most_names) = -1
    real(real64) :: amounts(most_names) = 0
    integer(int64) :: calls(most_names) = 0

contains

    ! Begin a region.
    subroutine nodewise_start(region)
        character(len=*), intent(in) :: region
        integer :: i
        i = place(region, .true.)
        if (i > 0) call system_clock(began(i))
    end subroutine

    ! End it; without a start before it does nothing.
    subroutine nodewise_stop(region)
        character(len=*), intent(in) :: region
        integer(int64) :: now, rate
        integer :: i
        call system_clock(now, rate)
        i = place(region, .true.)
        if (i == 0) return
        if (began(i) < 0) return
        amounts(i) = amounts(i) + real(now - began(i), real64) / real(rate, real64)
        calls(i) = calls(i) + 1
        began(i) = -1
    end subroutine

    ! Add to a number: "flops", "bytes" and "items" are the work done, any other name is a metric.
    subroutine nodewise_count(name, amount)
        character(len=*), intent(in) :: name
        real(real64), intent(in) :: amount
        integer :: i
        i = place(name, .false.)
        if (i > 0) amounts(i) = amounts(i) + amount
    end subroutine

    ! Say whether a part of the result is right; the result is where all parts are.
    subroutine nodewise_verified(right)
        logical, intent(in) :: right
        checked = .true.
        wrong = wrong .or. .not. right
    end subroutine

    ! Print all of it as one line, once at the end. What is compared is the time of `region`, or of the whole program without one.
    subroutine nodewise_report(region)
        character(len=*), intent(in), optional :: region
        integer :: i
        logical :: decides
        write (output_unit, "(/, a)", advance="no") '{"nodewise": 1'
        do i = 1, names
            if (.not. is_region(i)) then
                call write_number(trim(known(i)), amounts(i))
                cycle
            end if
            decides = .false.
            if (present(region)) decides = region == known(i)
            if (decides) call write_number("seconds", amounts(i))
            call write_number(trim(known(i))//"_s", amounts(i))
            call write_number(trim(known(i))//"_calls", real(calls(i), real64))
        end do
        if (checked) write (output_unit, "(a)", advance="no") ', "verified": '//trim(merge("false", "true ", wrong))
        write (output_unit, "(a)") "}"
        flush (output_unit)
    end subroutine

    subroutine write_number(name, value)
        character(len=*), intent(in) :: name
        real(real64), intent(in) :: value
        character(len=32) :: text
        write (text, "(es24.16e3)") value
        write (output_unit, "(a)", advance="no") ', "'//name//'": '//trim(adjustl(text))
    end subroutine

    ! The place of a name, which is made where it is new; 0 where there is no room.
    integer function place(name, region)
        character(len=*), intent(in) :: name
        logical, intent(in) :: region
        character(len=longest_name) :: kept
        integer :: i, code
        kept = name
        do i = 1, len_trim(kept)
            code = iachar(kept(i:i))
            ! nothing that would end a text in JSON
            if (code < 32 .or. code > 126 .or. kept(i:i) == '"' .or. code == 92) kept(i:i) = "_"
        end do
        do place = 1, names
            if (known(place) == kept .and. (is_region(place) .eqv. region)) return
        end do
        if (names == most_names) then
            place = 0
            return
        end if
        names = names + 1
        known(names) = kept
        is_region(names) = region
        place = names
    end function
end module
